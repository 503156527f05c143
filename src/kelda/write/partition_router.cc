#include "kelda/write/partition_router.h"

#include <unordered_map>

#include <arrow/builder.h>
#include <arrow/compute/api.h>

#include "kelda/row/binary_row.h"

namespace kelda {

arrow::Result<PartitionRouter> PartitionRouter::Make(const TableContext& table) {
  PartitionRouter router;
  for (const std::string& key : table.schema->partition_keys) {
    router.key_columns_.push_back(table.schema->FieldIndex(key));
  }
  router.key_types_ = table.PartitionTypes();
  return router;
}

arrow::Result<std::vector<RoutedBatch>> PartitionRouter::Route(
    const std::shared_ptr<arrow::RecordBatch>& batch) const {
  std::vector<RoutedBatch> routed;
  if (key_columns_.empty()) {
    routed.push_back(RoutedBatch{EmptySerializedRow(), batch});
    return routed;
  }
  arrow::ArrayVector keys;
  for (int column : key_columns_) keys.push_back(batch->column(column));
  ARROW_ASSIGN_OR_RAISE(auto rows, EncodeBinaryRows(key_types_, keys));

  // Group numbers; equal neighbours, the common case, cost one comparison.
  std::unordered_map<std::string_view, int32_t> groups;
  std::vector<std::string_view> group_keys;
  std::vector<std::vector<int32_t>> members;
  int32_t group = -1;
  for (int64_t i = 0; i < rows->length(); ++i) {
    const std::string_view key = rows->GetView(i);
    if (group < 0 || group_keys[group] != key) {
      auto [it, is_new] = groups.emplace(key, static_cast<int32_t>(group_keys.size()));
      if (is_new) {
        group_keys.push_back(key);
        members.emplace_back();
      }
      group = it->second;
    }
    members[group].push_back(static_cast<int32_t>(i));
  }
  const auto arity = static_cast<int32_t>(key_types_.size());
  for (size_t g = 0; g < group_keys.size(); ++g) {
    RoutedBatch part;
    part.partition = SerializeRow(arity, group_keys[g]);
    if (group_keys.size() == 1) {
      part.rows = batch;
    } else {
      auto indices = std::make_shared<arrow::Int32Array>(static_cast<int64_t>(members[g].size()),
                                                         arrow::Buffer::Wrap(members[g]));
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
