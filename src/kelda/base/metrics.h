#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace kelda {

/// Number that only grows. Thread-safe; one relaxed addition.
class Counter {
 public:
  void Add(int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

/// Number that goes up and down. Thread-safe.
class Gauge {
 public:
  void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

/// Distribution of values >= 0 in buckets of powers of two: bucket 0 holds 0 (and what is below),
/// bucket i holds [2^(i-1), 2^i). Thread-safe; a snapshot taken while others record may be off by
/// the records under way.
class Histogram {
 public:
  static constexpr int kBuckets = 64;
  void Record(int64_t value);
  int64_t count() const { return count_.load(std::memory_order_relaxed); }
  int64_t sum() const { return sum_.load(std::memory_order_relaxed); }
  int64_t max() const { return max_.load(std::memory_order_relaxed); }
  std::vector<int64_t> buckets() const;

 private:
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> sum_{0};
  std::atomic<int64_t> max_{0};
  std::array<std::atomic<int64_t>, kBuckets> buckets_{};
};

enum class MetricKind { kCounter, kGauge, kHistogram };

/// One metric at the time of a snapshot.
struct MetricValue {
  std::string name;
  MetricKind kind = MetricKind::kCounter;
  int64_t value = 0;  ///< of a counter or gauge; the count of a histogram
  int64_t sum = 0;    ///< histogram only, as all below
  int64_t max = 0;
  std::vector<int64_t> buckets;

  /// Upper bound of the bucket in which the quantile `q` of 0..1 lies, never above `max`.
  int64_t Quantile(double q) const;
};

/// Named metrics, made at first use and kept as long as the registry. References stay valid: look
/// up once, then use the reference in the hot path. One name has one kind. Thread-safe.
class MetricsRegistry {
 public:
  Counter& GetCounter(std::string_view name);
  Gauge& GetGauge(std::string_view name);
  Histogram& GetHistogram(std::string_view name);

  /// All metrics, sorted by name.
  std::vector<MetricValue> Snapshot() const;

  /// The registry of the process.
  static MetricsRegistry& Process();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Counter>, std::less<>> counters_;
  std::map<std::string, std::unique_ptr<Gauge>, std::less<>> gauges_;
  std::map<std::string, std::unique_ptr<Histogram>, std::less<>> histograms_;
};

}  // namespace kelda
