#include "kelda/scan/partition_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/io/file_io.h"
#include "kelda/row/binary_row.h"

namespace kelda {
namespace {

std::shared_ptr<arrow::Scalar> Int(std::optional<int32_t> v) {
  if (!v) return arrow::MakeNullScalar(arrow::int32());
  return std::make_shared<arrow::Int32Scalar>(*v);
}

std::string Row(std::optional<int32_t> v) {
  return SerializeRow(1, EncodeBinaryRow({DataType(TypeRoot::kInt)}, {Int(v)}).ValueOrDie());
}

/// Whether a manifest with these bounds of the partition column may hold what `pt = 5` wants.
arrow::Result<bool> MayContainFive(std::optional<int32_t> min, std::optional<int32_t> max) {
  Environment env;
  env.io = MakeMemoryFileIO();
  ARROW_ASSIGN_OR_RAISE(auto catalog, OpenFileSystemCatalog("/wh", {}, env));
  TableDefinition definition;
  definition.fields = {DataField{-1, "a", DataType(TypeRoot::kInt), {}, {}},
                       DataField{-1, "pt", DataType(TypeRoot::kInt), {}, {}}};
  definition.partition_keys = {"pt"};
  ARROW_ASSIGN_OR_RAISE(auto id, Identifier::Parse("default", "t"));
  ARROW_RETURN_NOT_OK(catalog->CreateTable(id, definition, false));
  ARROW_ASSIGN_OR_RAISE(auto table, catalog->LoadTable(id));
  ManifestFileMeta manifest;
  manifest.file_name = "manifest-7";
  manifest.num_added_files = 3;
  manifest.partition_stats = {Row(min), Row(max), {0}};
  return PartitionFilter(*table, Leaf(PredicateOp::kEq, {"pt"}, {Int(5)})).MayContain(manifest);
}

TEST(PartitionFilter, PrunesManifestsByTheirBounds) {
  EXPECT_EQ(MayContainFive(1, 9).ValueOr(!true), true);
  EXPECT_EQ(MayContainFive(5, 5).ValueOr(!true), true);
  EXPECT_EQ(MayContainFive(6, 9).ValueOr(!false), false);
  EXPECT_EQ(MayContainFive(1, 4).ValueOr(!false), false);
  EXPECT_OK(MayContainFive({}, {}));
}

TEST(PartitionFilter, BoundsThatCannotBeAreDamage) {
  for (const auto& [min, max] :
       std::vector<std::pair<std::optional<int32_t>, std::optional<int32_t>>>{
           {9, 1}, {{}, 1}, {1, {}}}) {
    EXPECT_THAT(MayContainFive(min, max), HasError(ErrorCode::kCorruption, "manifest-7"));
  }
}

}  // namespace
}  // namespace kelda
