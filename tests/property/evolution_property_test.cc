#include <algorithm>
#include <mutex>

#include <gtest/gtest.h>

#include <arrow/compute/api.h>

#include "kelda/base/log.h"
#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/catalog/schema_changes.h"
#include "kelda/commit/committer.h"
#include "kelda/format/parquet/parquet_test_util.h"
#include "kelda/read/file_read.h"
#include "kelda/row/cast.h"
#include "kelda/scan/plan.h"
#include "kelda/types/arrow_mapping.h"
#include "kelda/write/append_writer.h"
#include "tests/tools/golden_json.h"

// Random histories of a table: rows are written, columns and members added, dropped, renamed, moved
// and retyped, rows written again. The naive model keeps every batch with the schema it was written
// under and turns it, value by value, into rows of the newest one.

namespace kelda {
namespace {

using Lines = std::vector<std::string>;

DataType WithAmpleLengths(const DataType& type) {
  const bool nullable = type.nullable();
  switch (type.root()) {
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return DataType::Sized(TypeRoot::kVarChar, 100'000, nullable);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return DataType::Sized(TypeRoot::kVarBinary, 100'000, nullable);
    case TypeRoot::kArray:
      return DataType::Array(WithAmpleLengths(type.element()), nullable);
    case TypeRoot::kMultiset:
      return DataType::Multiset(WithAmpleLengths(type.element()), nullable);
    case TypeRoot::kMap:
      return DataType::Map(WithAmpleLengths(type.key()), WithAmpleLengths(type.value()), nullable);
    case TypeRoot::kRow: {
      std::vector<DataField> members = type.fields();
      for (DataField& member : members) member.type = WithAmpleLengths(member.type);
      return DataType::Row(std::move(members), nullable);
    }
    default:
      return type;
  }
}

bool HasVariant(const DataType& type) {
  return type.ToString().find("VARIANT") != std::string::npos;
}

const DataField* ById(const std::vector<DataField>& fields, int32_t id) {
  for (const DataField& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

/// Whether Java reads anything for `wanted` out of what was written as `written`.
bool IsReadable(const DataType& written, const DataType& wanted) {
  if (written.root() != wanted.root()) return true;
  switch (wanted.root()) {
    case TypeRoot::kRow:
      return std::any_of(wanted.fields().begin(), wanted.fields().end(), [&](const DataField& f) {
        const DataField* member = ById(written.fields(), f.id);
        return member != nullptr && IsReadable(member->type, f.type);
      });
    case TypeRoot::kArray:
      return IsReadable(written.element(), wanted.element());
    case TypeRoot::kMap:
      return IsReadable(written.value(), wanted.value());
    default:
      return true;
  }
}

arrow::Status AppendAs(const DataType& written, const DataType& wanted, const arrow::Array& column,
                       int64_t row, arrow::ArrayBuilder* out);

arrow::Status AppendRowAs(const DataType& written, const DataType& wanted,
                          const arrow::StructArray& column, int64_t row,
                          arrow::StructBuilder* out) {
  ARROW_RETURN_NOT_OK(out->Append());
  for (size_t i = 0; i < wanted.fields().size(); ++i) {
    const DataField& member = wanted.fields()[i];
    arrow::ArrayBuilder* child = out->field_builder(static_cast<int>(i));
    const DataField* there = ById(written.fields(), member.id);
    if (there == nullptr || !IsReadable(there->type, member.type)) {
      ARROW_RETURN_NOT_OK(child->AppendNull());
      continue;
    }
    const auto place = static_cast<int>(there - written.fields().data());
    ARROW_RETURN_NOT_OK(AppendAs(there->type, member.type, *column.field(place), row, child));
  }
  return arrow::Status::OK();
}

/// One value of `column`, which was written as `written`, as one of `wanted`.
arrow::Status AppendAs(const DataType& written, const DataType& wanted, const arrow::Array& column,
                       int64_t row, arrow::ArrayBuilder* out) {
  if (column.IsNull(row)) return out->AppendNull();
  if (written.root() == wanted.root()) {
    switch (wanted.root()) {
      case TypeRoot::kRow:
        return AppendRowAs(written, wanted, static_cast<const arrow::StructArray&>(column), row,
                           static_cast<arrow::StructBuilder*>(out));
      case TypeRoot::kArray: {
        const auto& list = static_cast<const arrow::ListArray&>(column);
        auto* builder = static_cast<arrow::ListBuilder*>(out);
        ARROW_RETURN_NOT_OK(builder->Append());
        for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
          ARROW_RETURN_NOT_OK(AppendAs(written.element(), wanted.element(), *list.values(), i,
                                       builder->value_builder()));
        }
        return arrow::Status::OK();
      }
      case TypeRoot::kMap: {
        const auto& map = static_cast<const arrow::MapArray&>(column);
        auto* builder = static_cast<arrow::MapBuilder*>(out);
        ARROW_RETURN_NOT_OK(builder->Append());
        for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
          ARROW_RETURN_NOT_OK(
              AppendAs(written.key(), wanted.key(), *map.keys(), i, builder->key_builder()));
          ARROW_RETURN_NOT_OK(
              AppendAs(written.value(), wanted.value(), *map.items(), i, builder->item_builder()));
        }
        return arrow::Status::OK();
      }
      default:
        break;
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto value, column.GetScalar(row));
  if (!written.EqualsIgnoringNullability(wanted)) {
    ARROW_ASSIGN_OR_RAISE(auto cast, ResolveCast(written, wanted));
    ARROW_ASSIGN_OR_RAISE(value, cast->Apply(*value));
  }
  return out->AppendScalar(*value);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> BatchAs(const std::vector<DataField>& written,
                                                           const std::vector<DataField>& wanted,
                                                           const arrow::RecordBatch& batch) {
  arrow::ArrayVector columns;
  for (const DataField& field : wanted) {
    ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(field.type));
    ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(type));
    const DataField* there = ById(written, field.id);
    const bool readable = there != nullptr && IsReadable(there->type, field.type);
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      if (!readable) {
        ARROW_RETURN_NOT_OK(builder->AppendNull());
        continue;
      }
      const auto place = static_cast<int>(there - written.data());
      ARROW_RETURN_NOT_OK(
          AppendAs(there->type, field.type, *batch.column(place), row, builder.get()));
    }
    ARROW_ASSIGN_OR_RAISE(auto column, builder->Finish());
    columns.push_back(std::move(column));
  }
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(wanted));
  return arrow::RecordBatch::Make(schema, batch.num_rows(), std::move(columns));
}

/// Every column and member with the path to it.
void CollectPaths(const std::vector<DataField>& fields, const std::vector<std::string>& above,
                  std::vector<std::pair<std::vector<std::string>, DataType>>* out);

void CollectInside(const DataType& type, std::vector<std::string> path,
                   std::vector<std::pair<std::vector<std::string>, DataType>>* out) {
  switch (type.root()) {
    case TypeRoot::kRow:
      return CollectPaths(type.fields(), path, out);
    case TypeRoot::kArray:
      path.emplace_back("element");
      return CollectInside(type.element(), path, out);
    case TypeRoot::kMap:
      path.emplace_back("value");
      return CollectInside(type.value(), path, out);
    default:
      return;
  }
}

void CollectPaths(const std::vector<DataField>& fields, const std::vector<std::string>& above,
                  std::vector<std::pair<std::vector<std::string>, DataType>>* out) {
  for (const DataField& field : fields) {
    std::vector<std::string> path = above;
    path.push_back(field.name);
    out->emplace_back(path, field.type);
    CollectInside(field.type, path, out);
  }
}

class EvolvingTable {
 public:
  explicit EvolvingTable(uint64_t seed) : random_(seed) {}

  void Create() {
    env_.io = MakeMemoryFileIO();
    env_.executor = Executor::MakePool(2);
    env_.budget = MemoryBudget::Make(int64_t{1} << 30);
    catalog_ = parquet_test::Unwrap(OpenFileSystemCatalog("/wh", {}, env_));
    TableDefinition definition;
    do {
      definition.fields = random_.Schema(static_cast<int>(2 + random_.Next(4)), 2);
      std::erase_if(definition.fields, [](const DataField& f) { return HasVariant(f.type); });
    } while (definition.fields.size() < 2);
    for (DataField& field : definition.fields) field.type = WithAmpleLengths(field.type);
    definition.fields.push_back(
        DataField{-1, "n", DataType(TypeRoot::kInt), std::nullopt, std::nullopt});
    definition.options["metadata.stats-mode"] = random_.Next(3) == 0 ? "truncate(3)" : "full";
    id_.database = "default";
    id_.table = "t";
    ASSERT_OK(catalog_->CreateTable(id_, definition, false));
    Reload();
  }

  void WriteAndCommit() {
    auto batch = random_.Batch(table_->fields(), static_cast<int64_t>(random_.Next(60)));
    auto writer = parquet_test::Unwrap(AppendWriter::Make(table_));
    ASSERT_OK(writer->Write(batch));
    Committable committable;
    committable.messages = parquet_test::Unwrap(writer->PrepareCommit());
    auto committer = parquet_test::Unwrap(Committer::Make(table_));
    ASSERT_OK(committer->Commit(committable));
    written_.push_back({table_->fields(), batch});
    model_.clear();
  }

  /// Some change, if the rows that are there survive it. Whether the schema changed.
  bool Evolve() {
    const SchemaChange change = RandomChange();
    TableSchema next = *table_->schema;
    if (!ApplySchemaChange(change, true, &next).ok()) return false;
    if (!ModelOf(next.fields).ok()) return false;
    const auto altered = catalog_->AlterTable(id_, {change});
    EXPECT_OK(altered);
    Reload();
    EXPECT_EQ(table_->schema->fields, next.fields);
    model_.clear();
    return altered.ok();
  }

  Lines Read(const PredicatePtr& predicate, ScanStatistics* statistics) {
    ScanRequest request;
    request.snapshot = parquet_test::Unwrap(ResolveSnapshot(*table_));
    request.predicate = predicate;
    auto plan = parquet_test::Unwrap(PlanScan(*table_, request));
    *statistics = plan.statistics;
    TableReadOptions options;
    options.columns = table_->fields();
    options.predicate = predicate;
    options.exact_filter = predicate != nullptr;
    options.batch_rows = 17;
    Lines lines;
    std::mutex mutex;
    EXPECT_OK(ReadPlan(*table_, plan, options, [&](std::shared_ptr<arrow::RecordBatch> batch) {
      std::lock_guard lock(mutex);
      return AppendGoldenLines(table_->fields(), *batch, {}, &lines);
    }));
    SortGoldenLines(&lines);
    return lines;
  }

  Lines Expected(const PredicatePtr& predicate) {
    Lines lines;
    for (const auto& batch : Model()) {
      auto kept = batch;
      if (predicate != nullptr) {
        auto passes = parquet_test::Unwrap(Evaluate(*predicate, *batch));
        kept = parquet_test::Unwrap(arrow::compute::Filter(batch, passes)).record_batch();
      }
      EXPECT_OK(AppendGoldenLines(table_->fields(), *kept, {}, &lines));
    }
    SortGoldenLines(&lines);
    return lines;
  }

  PredicatePtr RandomPredicate(int depth) {
    if (depth > 0 && random_.Next(3) == 0) {
      std::vector<PredicatePtr> children;
      for (uint64_t i = 0; i < 1 + random_.Next(3); ++i)
        children.push_back(RandomPredicate(depth - 1));
      const uint64_t kind = random_.Next(3);
      if (kind == 2) return Not(children[0]);
      return kind == 0 ? And(std::move(children)) : Or(std::move(children));
    }
    const DataField& field = table_->fields()[random_.Next(table_->fields().size())];
    const uint64_t kind = field.type.IsNested() ? random_.Next(2) : random_.Next(10);
    if (kind == 0) return Leaf(PredicateOp::kIsNull, {field.name}, {});
    if (kind == 1) return Leaf(PredicateOp::kIsNotNull, {field.name}, {});
    std::vector<std::shared_ptr<arrow::Scalar>> literals;
    for (int i = 0; i < (kind >= 8 ? 3 : 1); ++i) {
      auto literal = SomeValue(field);
      if (literal == nullptr) return Leaf(PredicateOp::kIsNotNull, {field.name}, {});
      literals.push_back(std::move(literal));
    }
    constexpr PredicateOp kOps[] = {PredicateOp::kEq, PredicateOp::kNe, PredicateOp::kLt,
                                    PredicateOp::kLe, PredicateOp::kGt, PredicateOp::kGe};
    if (kind >= 8) return Leaf(PredicateOp::kIn, {field.name}, std::move(literals));
    return Leaf(kOps[kind - 2], {field.name}, std::move(literals));
  }

 private:
  struct Written {
    std::vector<DataField> fields;
    std::shared_ptr<arrow::RecordBatch> batch;
  };
  using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

  void Reload() { table_ = parquet_test::Unwrap(catalog_->LoadTable(id_)); }

  arrow::Result<Batches> ModelOf(const std::vector<DataField>& fields) const {
    Batches batches;
    for (const Written& written : written_) {
      ARROW_ASSIGN_OR_RAISE(auto batch, BatchAs(written.fields, fields, *written.batch));
      batches.push_back(std::move(batch));
    }
    return batches;
  }
  const Batches& Model() {
    if (model_.empty()) model_ = parquet_test::Unwrap(ModelOf(table_->fields()));
    return model_;
  }

  DataType RandomType(int depth) {
    while (true) {
      const DataType type = random_.Schema(1, depth)[0].type.WithNullable(true);
      if (!HasVariant(type)) return WithAmpleLengths(type);
    }
  }

  SchemaChange RandomChange() {
    std::vector<std::pair<std::vector<std::string>, DataType>> paths;
    CollectPaths(table_->fields(), {}, &paths);
    auto [path, type] = paths[random_.Next(paths.size())];
    const std::string fresh = "c" + std::to_string(++names_);
    switch (random_.Next(9)) {
      case 0:
      case 1: {
        std::vector<std::string> parent(path.begin(), path.end() - 1);
        // A name that was dropped, perhaps.
        const std::string name =
            names_ > 3 && random_.Next(2) == 0 ? "c" + std::to_string(random_.Next(3)) : fresh;
        std::optional<std::string> after;
        if (random_.Next(3) != 0) after = random_.Next(2) == 0 ? "" : path.back();
        return AddColumn{DataField{-1, name, RandomType(1), std::nullopt, std::nullopt}, after,
                         parent};
      }
      case 2:
        return DropColumn{path};
      case 3:
        return RenameColumn{path, fresh};
      case 4:
        return UpdateColumnPosition{path[0], ""};
      default: {
        // Numbers most of the time: they have the most ways.
        constexpr const char* kCommon[] = {"BIGINT", "INT",    "SMALLINT",       "TINYINT",
                                           "DOUBLE", "STRING", "DECIMAL(12, 3)", "DECIMAL(5, 1)"};
        const DataType to = random_.Next(3) == 0
                                ? RandomType(0)
                                : DataType::Parse(kCommon[random_.Next(8)]).ValueOrDie();
        if (type.root() == TypeRoot::kArray && random_.Next(2) == 0) path.emplace_back("element");
        if (type.root() == TypeRoot::kMap && random_.Next(2) == 0) path.emplace_back("value");
        return UpdateColumnType{path, to};
      }
    }
  }

  /// A value that is in the table, so that filters match something.
  std::shared_ptr<arrow::Scalar> SomeValue(const DataField& field) {
    const int column = table_->schema->FieldIndex(field.name);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const auto& batch = Model()[random_.Next(Model().size())];
      if (batch->num_rows() == 0) continue;
      auto value = parquet_test::Unwrap(
          batch->column(column)->GetScalar(static_cast<int64_t>(random_.Next(batch->num_rows()))));
      if (value->is_valid) return value;
    }
    return nullptr;
  }

  parquet_test::RandomTable random_;
  Environment env_;
  std::shared_ptr<Catalog> catalog_;
  Identifier id_;
  TableContextPtr table_;
  std::vector<Written> written_;
  Batches model_;
  int names_ = 0;
};

TEST(EvolutionPropertyTest, RowsOfEveryVersionAreReadUnderTheNewest) {
  Log::SetLevel(LogLevel::kError);
  int64_t pruned_files = 0;
  int64_t changes = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EvolvingTable table(seed);
    ASSERT_NO_FATAL_FAILURE(table.Create());
    for (int version = 0; version < 6; ++version) {
      SCOPED_TRACE("version " + std::to_string(version));
      ASSERT_NO_FATAL_FAILURE(table.WriteAndCommit());
      for (int i = 0; i < 4; ++i) changes += table.Evolve() ? 1 : 0;
      ScanStatistics statistics;
      ASSERT_EQ(table.Read(nullptr, &statistics), table.Expected(nullptr));
      for (int i = 0; i < 6; ++i) {
        auto predicate = table.RandomPredicate(2);
        SCOPED_TRACE(predicate->ToString());
        ASSERT_EQ(table.Read(predicate, &statistics), table.Expected(predicate));
        pruned_files += statistics.files_total - statistics.files_planned;
      }
    }
  }
  EXPECT_GT(changes, 200);
  EXPECT_GT(pruned_files, 100);
}

}  // namespace
}  // namespace kelda
