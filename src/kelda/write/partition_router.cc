#include "kelda/write/partition_router.h"

#include <unordered_map>

#include <arrow/builder.h>
#include <arrow/compute/api.h>

#include "kelda/metadata/bucket_rule.h"
#include "kelda/row/binary_row.h"

namespace kelda {

namespace {

/// Rows of a batch by part: group of each row's (partition, bucket), members in row order.
struct Groups {
  struct Group {
    std::string_view partition;  ///< raw row; into the encoded keys
    int32_t bucket = 0;
    std::vector<int32_t> members;
  };
  std::vector<Group> groups;
};

/// `partitions` may be null (unpartitioned), `buckets` empty (no buckets).
Groups GroupRows(const arrow::BinaryArray* partitions, const std::vector<int32_t>& buckets,
                 int64_t rows) {
  Groups out;
  // Per partition: the group of each of its buckets.
  using BucketGroups = std::unordered_map<int32_t, int32_t>;
  std::unordered_map<std::string_view, BucketGroups> index;
  BucketGroups* of_partition = partitions == nullptr ? &index[std::string_view()] : nullptr;
  std::string_view partition;
  int32_t bucket = 0;
  int32_t group = -1;
  for (int64_t i = 0; i < rows; ++i) {
    const std::string_view row_partition =
        partitions == nullptr ? std::string_view() : partitions->GetView(i);
    const int32_t row_bucket = buckets.empty() ? 0 : buckets[i];
    // Equal neighbours, the common case of partitions, cost one comparison.
    if (of_partition == nullptr || (partitions != nullptr && row_partition != partition)) {
      partition = row_partition;
      of_partition = &index[partition];
      group = -1;
    }
    if (group < 0 || row_bucket != bucket) {
      bucket = row_bucket;
      auto [it, is_new] = of_partition->emplace(bucket, static_cast<int32_t>(out.groups.size()));
      if (is_new) out.groups.push_back({partition, bucket, {}});
      group = it->second;
    }
    out.groups[group].members.push_back(static_cast<int32_t>(i));
  }
  return out;
}

}  // namespace

arrow::Result<PartitionRouter> PartitionRouter::Make(const TableContext& table) {
  PartitionRouter router;
  for (const std::string& key : table.schema->partition_keys) {
    router.key_columns_.push_back(table.schema->FieldIndex(key));
  }
  router.key_types_ = table.PartitionTypes();
  ARROW_ASSIGN_OR_RAISE(auto buckets, BucketRule::Of(table));
  if (buckets) {
    router.bucket_count_ = buckets->count;
    router.bucket_columns_ = std::move(buckets->key_columns);
    router.bucket_function_ = std::move(buckets->function);
  }
  return router;
}

arrow::Result<std::vector<RoutedBatch>> PartitionRouter::Route(
    const std::shared_ptr<arrow::RecordBatch>& batch) const {
  std::vector<RoutedBatch> routed;
  if (key_columns_.empty() && bucket_count_ <= 1) {
    routed.push_back(RoutedBatch{EmptySerializedRow(), 0, batch});
    return routed;
  }
  std::shared_ptr<arrow::BinaryArray> partitions;
  if (!key_columns_.empty()) {
    arrow::ArrayVector keys;
    for (int column : key_columns_) keys.push_back(batch->column(column));
    ARROW_ASSIGN_OR_RAISE(partitions, EncodeBinaryRows(key_types_, keys));
  }
  std::vector<int32_t> buckets;
  if (bucket_count_ > 1) {
    arrow::ArrayVector keys;
    for (int column : bucket_columns_) keys.push_back(batch->column(column));
    ARROW_ASSIGN_OR_RAISE(buckets,
                          bucket_function_->Buckets(keys, batch->num_rows(), bucket_count_));
  }
  Groups grouped = GroupRows(partitions.get(), buckets, batch->num_rows());
  const auto arity = static_cast<int32_t>(key_types_.size());
  for (Groups::Group& group : grouped.groups) {
    RoutedBatch part;
    part.partition =
        key_columns_.empty() ? EmptySerializedRow() : SerializeRow(arity, group.partition);
    part.bucket = group.bucket;
    if (grouped.groups.size() == 1) {
      part.rows = batch;
    } else {
      auto indices = std::make_shared<arrow::Int32Array>(static_cast<int64_t>(group.members.size()),
                                                         arrow::Buffer::Wrap(group.members));
      ARROW_ASSIGN_OR_RAISE(
          auto taken,
          arrow::compute::Take(batch, indices, arrow::compute::TakeOptions::NoBoundsCheck()));
      part.rows = taken.record_batch();
    }
    routed.push_back(std::move(part));
  }
  return routed;
}

}  // namespace kelda
