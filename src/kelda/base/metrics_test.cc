#include "kelda/base/metrics.h"

#include <limits>
#include <thread>

#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

TEST(MetricsTest, SnapshotIsSortedAndComplete) {
  MetricsRegistry registry;
  registry.GetGauge("b.gauge").Set(5);
  registry.GetCounter("c.counter").Add(3);
  registry.GetCounter("c.counter").Add();
  registry.GetHistogram("a.histogram").Record(7);
  registry.GetGauge("b.gauge").Add(-7);
  const auto values = registry.Snapshot();
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].name, "a.histogram");
  EXPECT_EQ(values[0].kind, MetricKind::kHistogram);
  EXPECT_EQ(values[0].value, 1);
  EXPECT_EQ(values[0].sum, 7);
  EXPECT_EQ(values[1].value, -2);
  EXPECT_EQ(values[2].value, 4);
}

TEST(MetricsTest, HistogramBucketsAndQuantiles) {
  MetricsRegistry registry;
  auto& histogram = registry.GetHistogram("h");
  histogram.Record(-1);
  histogram.Record(0);
  histogram.Record(1);
  histogram.Record(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(histogram.buckets()[0], 2);
  EXPECT_EQ(histogram.buckets()[1], 1);
  EXPECT_EQ(histogram.buckets()[63], 1);

  auto& times = registry.GetHistogram("times");
  for (int i = 1; i <= 100; ++i) times.Record(i);
  const auto value = registry.Snapshot()[1];
  EXPECT_EQ(value.name, "times");
  EXPECT_EQ(value.max, 100);
  EXPECT_EQ(value.Quantile(0.5), 63);  // 50 lies in [32, 64)
  EXPECT_EQ(value.Quantile(1), 100);
  EXPECT_EQ(value.Quantile(0), 1);
  EXPECT_EQ(MetricValue().Quantile(0.5), 0);
}

TEST(MetricsTest, ThreadsCountTogether) {
  MetricsRegistry registry;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        registry.GetCounter("n").Add();
        registry.GetHistogram("h").Record(i);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(registry.GetCounter("n").value(), 4000);
  EXPECT_EQ(registry.GetHistogram("h").count(), 4000);
  EXPECT_EQ(registry.GetHistogram("h").max(), 999);
}

TEST(MetricsTest, ProcessRegistryIsOne) {
  MetricsRegistry::Process().GetCounter("metrics_test.once").Add(2);
  EXPECT_EQ(MetricsRegistry::Process().GetCounter("metrics_test.once").value(), 2);
}

}  // namespace
}  // namespace kelda
