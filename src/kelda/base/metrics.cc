#include "kelda/base/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace kelda {

namespace {

template <typename T>
T& FindOrMake(std::map<std::string, std::unique_ptr<T>, std::less<>>& metrics,
              std::string_view name) {
  auto it = metrics.find(name);
  if (it == metrics.end()) it = metrics.emplace(std::string(name), std::make_unique<T>()).first;
  return *it->second;
}

}  // namespace

void Histogram::Record(int64_t value) {
  const int bucket = value <= 0 ? 0 : std::bit_width(static_cast<uint64_t>(value));
  buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
  int64_t seen = max_.load(std::memory_order_relaxed);
  while (value > seen && !max_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

std::vector<int64_t> Histogram::buckets() const {
  std::vector<int64_t> counts(kBuckets);
  for (int i = 0; i < kBuckets; ++i) counts[i] = buckets_[i].load(std::memory_order_relaxed);
  return counts;
}

int64_t MetricValue::Quantile(double q) const {
  int64_t total = 0;
  for (int64_t count : buckets) total += count;
  if (total == 0) return 0;
  const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(total));
  int64_t seen = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    seen += buckets[i];
    if (buckets[i] == 0 || static_cast<double>(seen) < wanted) continue;
    const int64_t upper = i >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << i) - 1;
    return std::min(upper, max);
  }
  return max;
}

Counter& MetricsRegistry::GetCounter(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  return FindOrMake(counters_, name);
}

Gauge& MetricsRegistry::GetGauge(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  return FindOrMake(gauges_, name);
}

Histogram& MetricsRegistry::GetHistogram(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  return FindOrMake(histograms_, name);
}

std::vector<MetricValue> MetricsRegistry::Snapshot() const {
  std::vector<MetricValue> values;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, counter] : counters_) {
      values.push_back({name, MetricKind::kCounter, counter->value(), 0, 0, {}});
    }
    for (const auto& [name, gauge] : gauges_) {
      values.push_back({name, MetricKind::kGauge, gauge->value(), 0, 0, {}});
    }
    for (const auto& [name, histogram] : histograms_) {
      values.push_back({name, MetricKind::kHistogram, histogram->count(), histogram->sum(),
                        histogram->max(), histogram->buckets()});
    }
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  return values;
}

MetricsRegistry& MetricsRegistry::Process() {
  // Never destroyed: threads may count while the process ends.
  static auto& registry = *new MetricsRegistry();
  return registry;
}

}  // namespace kelda
