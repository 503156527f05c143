#include "kelda/merge/merge_engine.h"

#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

using Cell = std::optional<int32_t>;
using Row = std::vector<Cell>;
constexpr Cell kNull = std::nullopt;

struct Record {
  int8_t kind = kInsertKind;
  Row row;
};

template <typename T>
T Unwrap(arrow::Result<T> result) {
  if (!result.ok()) ADD_FAILURE() << result.status().ToString();
  return std::move(result).ValueOrDie();
}

/// A table of INT columns f0, f1, ... with key f0 and no partitions.
TableSchema SchemaOf(int columns) {
  TableSchema schema;
  for (int i = 0; i < columns; ++i) {
    schema.fields.push_back({i, "f" + std::to_string(i), DataType(TypeRoot::kInt, i > 0), {}, {}});
  }
  schema.primary_keys = {"f0"};
  return schema;
}

MergeLayout LayoutOf(const TableSchema& schema, const MergeRules& rules) {
  MergeLayout layout;
  layout.fields = schema.fields;
  layout.key_columns = {0};
  for (const std::string& name : rules.sequence_fields) {
    const int place = schema.FieldIndex(name);
    layout.sequence.push_back({place, DataType(TypeRoot::kInt), rules.sequence_descending});
  }
  return layout;
}

std::shared_ptr<arrow::RecordBatch> BatchOf(const TableSchema& schema,
                                            const std::vector<Record>& records,
                                            const std::vector<int64_t>& sequence) {
  arrow::ArrayVector columns;
  arrow::FieldVector fields;
  for (size_t c = 0; c < schema.fields.size(); ++c) {
    arrow::Int32Builder builder;
    for (const Record& record : records) {
      const Cell& cell = record.row[c];
      EXPECT_OK(cell ? builder.Append(*cell) : builder.AppendNull());
    }
    columns.push_back(Unwrap(builder.Finish()));
    fields.push_back(arrow::field(schema.fields[c].name, arrow::int32()));
  }
  arrow::Int64Builder numbers;
  arrow::Int8Builder kinds;
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_OK(numbers.Append(sequence[i]));
    EXPECT_OK(kinds.Append(records[i].kind));
  }
  columns.push_back(Unwrap(numbers.Finish()));
  columns.push_back(Unwrap(kinds.Finish()));
  fields.push_back(arrow::field("_SEQUENCE_NUMBER", arrow::int64()));
  fields.push_back(arrow::field("_VALUE_KIND", arrow::int8()));
  return arrow::RecordBatch::Make(arrow::schema(fields), static_cast<int64_t>(records.size()),
                                  std::move(columns));
}

std::vector<Record> RecordsOf(const arrow::RecordBatch& batch, size_t columns) {
  std::vector<Record> records(static_cast<size_t>(batch.num_rows()));
  const auto& kinds =
      static_cast<const arrow::Int8Array&>(*batch.column(static_cast<int>(columns) + 1));
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    Record& record = records[static_cast<size_t>(i)];
    record.kind = kinds.Value(i);
    for (size_t c = 0; c < columns; ++c) {
      const auto& values =
          static_cast<const arrow::Int32Array&>(*batch.column(static_cast<int>(c)));
      record.row.push_back(values.IsNull(i) ? kNull : Cell(values.Value(i)));
    }
  }
  return records;
}

/// Merges records of one key, in this order.
class Folder {
 public:
  Folder(int columns, std::map<std::string, std::string> options)
      : schema_(SchemaOf(columns)), options_(std::move(options)) {
    rules_ = Unwrap(MergeRules::Make(schema_, options_));
    layout_ = LayoutOf(schema_, rules_);
    engine_ = Unwrap(MergeEngine::Make(rules_, layout_, options_));
  }

  arrow::Result<std::vector<Record>> Merge(const std::vector<Record>& records,
                                           std::vector<int32_t> levels = {}) {
    MergeWindow window;
    std::vector<int64_t> sequence;
    for (size_t i = 0; i < records.size(); ++i) sequence.push_back(static_cast<int64_t>(i));
    window.rows = BatchOf(schema_, records, sequence);
    window.order = sequence;
    window.group_begin = {0, records.size()};
    window.levels = levels.empty() ? std::vector<int32_t>(records.size(), 0) : std::move(levels);
    ARROW_ASSIGN_OR_RAISE(auto merged, engine_->Merge(window));
    return RecordsOf(*merged, schema_.fields.size());
  }

  struct Step {
    Record in;
    std::optional<Row> after;  ///< the row once `in` is merged
    int8_t kind = kInsertKind;
  };
  void Check(const std::vector<Step>& steps) {
    std::vector<Record> records;
    for (size_t i = 0; i < steps.size(); ++i) {
      SCOPED_TRACE("record " + std::to_string(i));
      records.push_back(steps[i].in);
      if (!steps[i].after) continue;
      auto merged = Unwrap(Merge(records));
      ASSERT_EQ(merged.size(), 1u);
      EXPECT_EQ(merged[0].row, *steps[i].after);
      EXPECT_EQ(merged[0].kind, steps[i].kind);
    }
  }

 private:
  TableSchema schema_;
  Options options_;
  MergeRules rules_;
  MergeLayout layout_;
  std::unique_ptr<MergeEngine> engine_;
};

Record Add(Row row) { return {kInsertKind, std::move(row)}; }
Record Before(Row row) { return {kUpdateBeforeKind, std::move(row)}; }
Record Delete(Row row) { return {kDeleteKind, std::move(row)}; }

const std::map<std::string, std::string> kPartialUpdate = {{"merge-engine", "partial-update"}};

std::map<std::string, std::string> With(std::map<std::string, std::string> base,
                                        const std::map<std::string, std::string>& more) {
  base.insert(more.begin(), more.end());
  return base;
}

// The vectors of spec 02 §11.5, out of Java's tests.

TEST(PartialUpdate, P1UpdateNonNull) {
  Folder folder(7, kPartialUpdate);
  folder.Check({{Add({1, 1, 1, 1, 1, 1, 1}), {}},
                {Add({1, 2, 2, 2, 2, 2, kNull}), Row{1, 2, 2, 2, 2, 2, 1}}});
}

const std::map<std::string, std::string> kTwoGroups = With(
    kPartialUpdate, {{"fields.f3.sequence-group", "f1,f2"}, {"fields.f6.sequence-group", "f4,f5"}});

TEST(PartialUpdate, P2SequenceGroup) {
  Folder folder(7, kTwoGroups);
  folder.Check({{Add({1, 1, 1, 1, 1, 1, 1}), {}},
                {Add({1, 2, 2, 2, 2, 2, kNull}), Row{1, 2, 2, 2, 1, 1, 1}},
                {Add({1, 3, 3, 1, 3, 3, 3}), Row{1, 2, 2, 2, 3, 3, 3}},
                {Delete({1, 1, 1, 3, 1, 1, kNull}), Row{1, kNull, kNull, 3, 3, 3, 3}},
                {Delete({1, 1, 1, 3, 1, 1, 4}), Row{1, kNull, kNull, 3, kNull, kNull, 4}},
                {Add({1, 4, 4, 4, 5, 5, 5}), Row{1, 4, 4, 4, 5, 5, 5}},
                {Delete({1, 1, 1, 6, 1, 1, 6}), Row{1, kNull, kNull, 6, kNull, kNull, 6}}});
}

TEST(PartialUpdate, P3SequenceGroupRemovesTheRecord) {
  Folder folder(7, With(kTwoGroups, {{"partial-update.remove-record-on-sequence-group", "f6"}}));
  folder.Check({{Add({1, 1, 1, 1, 1, 1, 1}), {}},
                {Add({1, 2, 2, 2, 2, 2, kNull}), Row{1, 2, 2, 2, 1, 1, 1}},
                {Add({1, 3, 3, 1, 3, 3, 3}), Row{1, 2, 2, 2, 3, 3, 3}},
                {Delete({1, 1, 1, 3, 1, 1, kNull}), Row{1, kNull, kNull, 3, 3, 3, 3}},
                {Delete({1, 1, 1, 3, 1, 1, 4}), Row{1, 1, 1, 3, 1, 1, 4}, kDeleteKind},
                {Add({1, 4, 4, 4, 5, 5, 5}), Row{1, 4, 4, 4, 5, 5, 5}},
                {Delete({1, 1, 1, 6, 1, 1, 6}), Row{1, 1, 1, 6, 1, 1, 6}, kDeleteKind}});
}

TEST(PartialUpdate, P4SeveralSequenceColumns) {
  Folder folder(9, With(kPartialUpdate, {{"fields.f3,f4.sequence-group", "f1,f2"},
                                         {"fields.f7,f8.sequence-group", "f5,f6"}}));
  folder.Check(
      {{Add({1, kNull, kNull, kNull, kNull, 1, 1, 1, 3}), {}},
       {Add({1, 2, 2, kNull, kNull, 2, 2, 1, 3}), Row{1, kNull, kNull, kNull, kNull, 2, 2, 1, 3}}});
  folder.Check(
      {{Add({1, 1, 1, 1, 1, 1, 1, 1, 3}), {}},
       {Add({1, 2, 2, 2, 2, 2, 1, 1, kNull}), Row{1, 2, 2, 2, 2, 1, 1, 1, 3}},
       {Add({1, 1, 3, 1, 3, 3, 3, 3, 2}), Row{1, 2, 2, 2, 2, 3, 3, 3, 2}},
       {Delete({1, 1, 1, 3, 3, 1, 1, kNull, kNull}), Row{1, kNull, kNull, 3, 3, 3, 3, 3, 2}},
       {Delete({1, 1, 1, 3, 1, 1, 1, 4, 4}), Row{1, kNull, kNull, 3, 3, kNull, kNull, 4, 4}}});
}

TEST(PartialUpdate, P5DefaultFunctionInGroups) {
  Folder folder(7,
                With(kTwoGroups, {{"fields.default-aggregate-function", "last_non_null_value"}}));
  folder.Check({{Add({1, 1, 1, 1, 1, 1, 1}), {}},
                {Add({1, 2, 2, 2, 2, 2, kNull}), Row{1, 2, 2, 2, 1, 1, 1}},
                {Add({1, 3, 3, 1, 3, 3, 3}), Row{1, 2, 2, 2, 3, 3, 3}},
                {Add({1, 4, kNull, 4, 5, kNull, 5}), Row{1, 4, 2, 4, 5, 3, 5}}});
}

TEST(PartialUpdate, P6FirstValueInAGroup) {
  Folder folder(4, With(kPartialUpdate, {{"fields.f1.sequence-group", "f2,f3"},
                                         {"fields.f2.aggregate-function", "first_value"},
                                         {"fields.f3.aggregate-function", "last_value"}}));
  folder.Check({{Add({1, 1, 1, 1}), {}},
                {Add({1, 2, 2, 2}), Row{1, 2, 1, 2}},
                {Add({1, 0, 3, 3}), Row{1, 2, 3, 2}}});
}

TEST(PartialUpdate, P7Aggregation) {
  Folder folder(8, With(kPartialUpdate, {{"fields.f1.sequence-group", "f2,f3,f4"},
                                         {"fields.f7.sequence-group", "f6"},
                                         {"fields.f2.aggregate-function", "sum"},
                                         {"fields.f4.aggregate-function", "last_value"},
                                         {"fields.f4.ignore-retract", "true"},
                                         {"fields.f6.aggregate-function", "last_non_null_value"},
                                         {"fields.f6.ignore-retract", "true"}}));
  folder.Check(
      {{Add({1, 1, 1, 1, 1, 1, 1, 1}), {}},
       {Add({1, 2, 1, 2, 2, 2, 2, 0}), Row{1, 2, 2, 2, 2, 2, 1, 1}},
       {Add({1, 1, 1, 1, 1, 1, 2, 0}), Row{1, 2, 3, 2, 2, 1, 1, 1}},
       {Add({1, 1, -1, 1, 1, 2, 2, 0}), {}},
       {Add({1, 3, kNull, kNull, kNull, kNull, kNull, 2}), Row{1, 3, 2, kNull, kNull, 2, 1, 2}},
       {Add({1, 3, 1, 1, 1, 1, 1, 3}), Row{1, 3, 3, 1, 1, 1, 1, 3}},
       {Before({1, 3, 2, 1, 1, 1, 1, 3}), Row{1, 3, 1, kNull, 1, 1, 1, 3}},
       {Delete({1, 3, 2, 1, 1, 1, 1, 3}), Row{1, 3, -1, kNull, 1, 1, 1, 3}},
       {Delete({1, 2, 2, 1, 1, 1, 1, 3}), Row{1, 3, -3, kNull, 1, 1, 1, 3}}});
}

TEST(PartialUpdate, RemoveRecordOnDelete) {
  Folder folder(3, With(kPartialUpdate, {{"partial-update.remove-record-on-delete", "true"}}));
  folder.Check({{Add({1, 1, 1}), {}},
                {Before({1, 2, 2}), Row{1, 1, 1}},
                {Delete({1, 2, 3}), Row{1, 2, 3}, kDeleteKind},
                {Add({1, 4, kNull}), Row{1, 4, 3}}});
}

TEST(PartialUpdate, DeleteWithoutARemedyIsRefused) {
  Folder folder(3, kPartialUpdate);
  EXPECT_THAT(folder.Merge({Add({1, 1, 1}), Delete({1, 1, 1})}),
              HasError(ErrorCode::kNone, "cannot take DELETE"));
  Folder ignoring(3, With(kPartialUpdate, {{"ignore-delete", "true"}}));
  ignoring.Check({{Add({1, 1, 1}), {}}, {Delete({1, 2, 2}), Row{1, 1, 1}}});
}

TEST(PartialUpdate, DefinitionsThatJavaRefuses) {
  const auto refused = [](std::map<std::string, std::string> options, const std::string& text) {
    EXPECT_THAT(MergeRules::Make(SchemaOf(7), Options(With(kPartialUpdate, options))),
                HasError(ErrorCode::kNone, text));
  };
  refused({{"fields.f3.sequence-group", "f1,f9"}}, "f9");
  refused({{"fields.f3.sequence-group", "f1"}, {"fields.f4.sequence-group", "f1"}},
          "more than one sequence group");
  refused({{"partial-update.remove-record-on-sequence-group", "f3"}}, "not a sequence column");
  refused({{"ignore-delete", "true"}, {"partial-update.remove-record-on-delete", "true"}},
          "ignore-delete");
  refused({{"fields.f3.sequence-group", "f1"}, {"partial-update.remove-record-on-delete", "true"}},
          "sequence groups");
  refused({{"fields.f1.aggregate-function", "sum"}}, "Must use sequence group");
}

const std::map<std::string, std::string> kAggregation = {{"merge-engine", "aggregation"}};

TEST(Aggregation, A1SumAndMaxWithRetract) {
  Folder folder(4, With(kAggregation, {{"fields.f2.aggregate-function", "sum"},
                                       {"fields.f3.aggregate-function", "max"},
                                       {"fields.f3.ignore-retract", "true"}}));
  folder.Check(
      {{Add({1, 1, 3, 3}), {}}, {Add({1, 1, 1, 1}), {}}, {Add({1, 1, 2, 2}), Row{1, 1, 6, 3}}});
  folder.Check({{Before({1, 1, 1, 1}), {}},
                {Before({1, 1, 2, 2}), {}},
                {Delete({1, 1, 1, 1}), Row{1, kNull, -4, kNull}}});
}

TEST(Aggregation, A2RetractionRefused) {
  Folder folder(4, With(kAggregation, {{"fields.f3.aggregate-function", "max"}}));
  EXPECT_THAT(folder.Merge({Add({1, 1, 3, 3}), Before({1, 1, 3, 3})}),
              HasError(ErrorCode::kNone, "cannot take back"));
}

TEST(Aggregation, A3LastNonNullValueRetract) {
  Folder folder(4, kAggregation);
  folder.Check({{Add({1, 1, 3, 3}), {}}, {Delete({1, kNull, kNull, 3}), Row{1, 1, 3, kNull}}});
}

TEST(Aggregation, A4RemoveRecordOnDelete) {
  Folder folder(4, With(kAggregation, {{"aggregation.remove-record-on-delete", "true"}}));
  folder.Check({{Add({1, 1, 2, 2}), {}},
                {Delete({1, 1, 2, 3}), Row{1, 1, 2, 3}, kDeleteKind},
                {Add({1, 1, 2, 2}), Row{1, 1, 2, 2}}});
}

TEST(Aggregation, A5FirstNonNullAndSum) {
  Folder folder(5,
                With(kAggregation, {{"fields.default-aggregate-function", "first_non_null_value"},
                                    {"fields.f2.aggregate-function", "sum"}}));
  folder.Check({{Add({1, kNull, 1, 1, 1}), {}},
                {Add({1, 2, kNull, 2, 2}), {}},
                {Add({1, 3, 3, kNull, 3}), {}},
                {Add({1, 4, 4, 4, kNull}), {}},
                {Add({1, 5, 5, 5, 5}), Row{1, 2, 13, 1, 1}}});
}

TEST(Aggregation, A7SumAndProduct) {
  Folder folder(3, With(kAggregation, {{"fields.f1.aggregate-function", "sum"},
                                       {"fields.f2.aggregate-function", "product"}}));
  folder.Check({{Add({1, kNull, kNull}), {}},
                {Add({1, 10, 10}), Row{1, 10, 10}},
                {Before({1, 5, 5}), Row{1, 5, 2}},
                // Integers wrap around in 1.4.2.
                {Add({1, INT32_MAX, INT32_MAX}), Row{1, INT32_MIN + 4, -2}}});
}

TEST(Deduplicate, LastRowWins) {
  Folder folder(2, {});
  folder.Check({{Add({1, 1}), {}},
                {Add({1, 2}), Row{1, 2}},
                {Delete({1, 3}), Row{1, 3}, kDeleteKind},
                {Before({1, 4}), Row{1, 4}, kUpdateBeforeKind}});
  Folder ignoring(2, {{"ignore-delete", "true"}});
  ignoring.Check({{Add({1, 1}), {}}, {Delete({1, 3}), Row{1, 1}}});
  EXPECT_TRUE(Unwrap(ignoring.Merge({Delete({1, 1}), Delete({1, 2})})).empty());
}

TEST(FirstRow, FirstRowWins) {
  Folder folder(2, {{"merge-engine", "first-row"}});
  folder.Check({{Add({1, 1}), {}}, {Add({1, 2}), Row{1, 1}}});
  EXPECT_THAT(folder.Merge({Add({1, 1}), Delete({1, 2})}), HasError(ErrorCode::kNone, "first-row"));
}

TEST(LookupTables, OnlyTheLowestLevelAboveZeroCounts) {
  // C3 of spec 02 §11.6: {L3 1, L2 1, L1 2, L0 2} is 4.
  Folder folder(2, With(kAggregation, {{"changelog-producer", "lookup"},
                                       {"fields.f1.aggregate-function", "sum"}}));
  const auto merged =
      Unwrap(folder.Merge({Add({1, 1}), Add({1, 1}), Add({1, 2}), Add({1, 2})}, {3, 2, 1, 0}));
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].row, (Row{1, 4}));
}

/// A run of given batches.
class ListedRun : public SortedRun {
 public:
  explicit ListedRun(std::vector<RunBatch> batches) : batches_(std::move(batches)) {}
  arrow::Result<std::optional<RunBatch>> Next() override {
    if (next_ == batches_.size()) return std::nullopt;
    return batches_[next_++];
  }

 private:
  std::vector<RunBatch> batches_;
  size_t next_ = 0;
};

/// Random runs against a map: deduplicate, with and without a sequence field in both directions.
TEST(GroupMerger, RandomRunsAgainstAMap) {
  std::mt19937 random(5);
  for (int round = 0; round < 120; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::map<std::string, std::string> options;
    const int order = round % 3;  // none, ascending, descending
    if (order > 0) options["sequence.field"] = "f1";
    if (order == 2) options["sequence.field.sort-order"] = "descending";
    const TableSchema schema = SchemaOf(3);
    const MergeRules rules = Unwrap(MergeRules::Make(schema, Options(options)));
    const MergeLayout layout = LayoutOf(schema, rules);

    struct Version {
      Cell order;
      int64_t sequence;
      Record record;
    };
    std::map<int32_t, std::vector<Version>> model;
    std::vector<std::unique_ptr<SortedRun>> runs;
    int64_t sequence = 0;
    const int run_count = 1 + static_cast<int>(random() % 6);
    for (int r = 0; r < run_count; ++r) {
      std::map<int32_t, Record> rows;
      const int keys = static_cast<int>(random() % 40);
      for (int i = 0; i < keys; ++i) {
        const auto key = static_cast<int32_t>(random() % 50) - 25;
        const Cell field = random() % 5 == 0 ? kNull : Cell(static_cast<int32_t>(random() % 7) - 3);
        rows[key] = {random() % 6 == 0 ? kDeleteKind : kInsertKind,
                     {key, field, static_cast<int32_t>(random() % 1000)}};
      }
      std::vector<RunBatch> batches;
      std::vector<Record> records;
      std::vector<int64_t> numbers;
      const auto flush = [&] {
        if (records.empty()) return;
        batches.push_back({BatchOf(schema, records, numbers), 0, "file"});
        records.clear();
        numbers.clear();
      };
      for (const auto& [key, record] : rows) {
        records.push_back(record);
        numbers.push_back(++sequence);
        model[key].push_back({record.row[1], sequence, record});
        if (random() % 4 == 0) flush();
      }
      flush();
      runs.push_back(std::make_unique<ListedRun>(std::move(batches)));
    }
    GroupMerger merger(layout, std::move(runs), 1 + static_cast<int64_t>(random() % 20), {});
    auto engine = Unwrap(MergeEngine::Make(rules, layout, Options(options)));
    std::vector<Record> merged;
    MergeWindow window;
    while (Unwrap(merger.Next(&window))) {
      const auto part = RecordsOf(*Unwrap(engine->Merge(window)), 3);
      merged.insert(merged.end(), part.begin(), part.end());
    }
    std::vector<Record> expected;
    for (auto& [key, versions] : model) {
      std::stable_sort(versions.begin(), versions.end(), [&](const Version& a, const Version& b) {
        if (order == 0 || a.order == b.order) return a.sequence < b.sequence;
        if (!a.order || !b.order) return !a.order;  // NULLs first in both directions
        return order == 1 ? *a.order < *b.order : *a.order > *b.order;
      });
      expected.push_back(versions.back().record);
    }
    ASSERT_EQ(merged.size(), expected.size());
    for (size_t i = 0; i < merged.size(); ++i) {
      EXPECT_EQ(merged[i].row, expected[i].row);
      EXPECT_EQ(merged[i].kind, expected[i].kind);
    }
  }
}

TEST(GroupMerger, AnUnsortedRunIsNamed) {
  const TableSchema schema = SchemaOf(2);
  const MergeRules rules = Unwrap(MergeRules::Make(schema, Options()));
  const MergeLayout layout = LayoutOf(schema, rules);
  for (const std::vector<Record>& records :
       {std::vector<Record>{Add({2, 0}), Add({1, 0})}, {Add({1, 0}), Add({1, 1})}}) {
    std::vector<std::unique_ptr<SortedRun>> runs;
    runs.push_back(std::make_unique<ListedRun>(
        std::vector<RunBatch>{{BatchOf(schema, records, {1, 2}), 0, "data-x.parquet"}}));
    GroupMerger merger(layout, std::move(runs), 10, {});
    MergeWindow window;
    EXPECT_THAT(merger.Next(&window), HasError(ErrorCode::kCorruption, "data-x.parquet"));
  }
}

}  // namespace
}  // namespace kelda
