#include "kelda/scan/partition_filter.h"

#include <arrow/array/util.h>

#include "kelda/row/binary_row.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

/// Bounds of the partition columns over the entries of one manifest.
class ManifestBounds : public BoundsSource {
 public:
  ManifestBounds(const std::vector<DataField>& fields,
                 std::vector<std::shared_ptr<arrow::Scalar>> min,
                 std::vector<std::shared_ptr<arrow::Scalar>> max, const ManifestFileMeta& manifest)
      : fields_(fields), min_(std::move(min)), max_(std::move(max)), manifest_(manifest) {}

  std::optional<ColumnBounds> Bounds(const std::vector<std::string>& column) const override {
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (column.size() != 1 || fields_[i].name != column[0]) continue;
      ColumnBounds bounds;
      if (min_[i]->is_valid) bounds.min = min_[i];
      if (max_[i]->is_valid) bounds.max = max_[i];
      const auto& nulls = manifest_.partition_stats.null_counts;
      if (i < nulls.size()) bounds.null_count = nulls[i];
      return bounds;
    }
    return std::nullopt;
  }
  int64_t row_count() const override {
    return manifest_.num_added_files + manifest_.num_deleted_files;
  }

 private:
  const std::vector<DataField>& fields_;
  std::vector<std::shared_ptr<arrow::Scalar>> min_;
  std::vector<std::shared_ptr<arrow::Scalar>> max_;
  const ManifestFileMeta& manifest_;
};

}  // namespace

PartitionFilter::PartitionFilter(const TableContext& table, PredicatePtr predicate)
    : fields_(table.PartitionFields()),
      types_(table.PartitionTypes()),
      predicate_(std::move(predicate)) {
  auto schema = ToArrowSchema(fields_);
  if (schema.ok()) {
    schema_ = *schema;
  } else {
    schema_status_ = schema.status();
  }
}

arrow::Result<bool> PartitionFilter::Accepts(std::string_view serialized) {
  if (trivial()) return true;
  {
    std::lock_guard lock(mutex_);
    auto it = answers_.find(std::string(serialized));
    if (it != answers_.end()) return it->second;
  }
  ARROW_RETURN_NOT_OK(schema_status_);
  ARROW_ASSIGN_OR_RAISE(auto values, DecodePartition(types_, serialized, "manifest entry"));
  arrow::ArrayVector columns;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]->is_valid) {
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*values[i], 1));
      columns.push_back(std::move(column));
    } else {
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayOfNull(schema_->field(i)->type(), 1));
      columns.push_back(std::move(column));
    }
  }
  auto batch = arrow::RecordBatch::Make(schema_, 1, std::move(columns));
  ARROW_ASSIGN_OR_RAISE(auto passes, Evaluate(*predicate_, *batch));
  const bool accepted = passes->IsValid(0) && passes->Value(0);
  std::lock_guard lock(mutex_);
  answers_.emplace(serialized, accepted);
  return accepted;
}

arrow::Result<bool> PartitionFilter::MayContain(const ManifestFileMeta& manifest) const {
  if (trivial()) return true;
  // Statistics of another arity (none written) say nothing.
  auto decode = [this](const std::string& bytes) -> std::vector<std::shared_ptr<arrow::Scalar>> {
    auto values = DecodePartition(types_, bytes, "manifest list");
    return values.ok() ? *values : std::vector<std::shared_ptr<arrow::Scalar>>();
  };
  auto min = decode(manifest.partition_stats.min_values);
  auto max = decode(manifest.partition_stats.max_values);
  if (min.size() != types_.size() || max.size() != types_.size()) return true;
  // No checksum guards a manifest list: bounds that no partitions can have must not prune.
  for (size_t i = 0; i < types_.size(); ++i) {
    const bool in_order = min[i]->is_valid == max[i]->is_valid &&
                          (!min[i]->is_valid || CompareScalars(*min[i], *max[i]) <= 0);
    if (in_order) continue;
    return Corruption("manifest list: bounds of partition column '{}' in manifest '{}' are damaged",
                      fields_[i].name, manifest.file_name);
  }
  return MayMatch(*predicate_, ManifestBounds(fields_, std::move(min), std::move(max), manifest));
}

}  // namespace kelda
