// Random tables and filters: what is pruned must not be missed. Every query runs in three ways
// (DuckDB's Parquet reader, Kelda's, Kelda's without any pruning) and, as the model, on the same
// rows in a DuckDB table; the answers must be equal.

#include <unistd.h>

#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/sql/session/session.h"
#include "kelda/sql/types/chunk_to_arrow.h"
#include "kelda/sql/types/logical_type.h"
#include "kelda/write/append_writer.h"

namespace kelda::sql {
namespace {

namespace fs = std::filesystem;

/// Columns of the table and how a value of each is drawn: few values, so that filters hit, and the
/// extremes.
struct TestColumn {
  const char* name;
  const char* type;  ///< of Paimon
  const char* expression;
};

// `k` is a hash of row and column between 0 and 2^63.
constexpr TestColumn kColumns[] = {
    {"id", "BIGINT",
     "CASE WHEN k % 41 = 0 THEN NULL WHEN k % 43 = 0 THEN -9223372036854775808 "
     "ELSE i // 7 END"},
    {"small", "SMALLINT", "CASE WHEN k % 19 = 0 THEN NULL ELSE (k % 200 - 100) END"},
    {"real", "DOUBLE",
     "CASE k % 17 WHEN 0 THEN NULL WHEN 1 THEN 'NaN'::DOUBLE WHEN 2 THEN -0.0::DOUBLE WHEN 3 THEN "
     "0.0::DOUBLE WHEN 4 THEN 'Infinity'::DOUBLE WHEN 5 THEN '-Infinity'::DOUBLE ELSE (k % 1000 - "
     "500) / 8 END"},
    {"price", "DECIMAL(12, 2)", "CASE WHEN k % 23 = 0 THEN NULL ELSE (i - 500) / 4 END"},
    {"wide", "DECIMAL(30, 3)", "CASE WHEN k % 29 = 0 THEN NULL ELSE (k % 7 - 3) * 1e20 END"},
    {"name", "STRING",
     "CASE k % 11 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'zz' WHEN 3 THEN 'a long name that "
     "is cut in statistics ' || (k % 5) ELSE chr((97 + i // 100)::INT) || (k % 30) END"},
    {"flag", "BOOLEAN", "CASE k % 3 WHEN 0 THEN NULL ELSE k % 2 = 0 END"},
    {"day", "DATE", "CASE WHEN k % 13 = 0 THEN NULL ELSE DATE '2024-01-01' + (i // 20)::INT END"},
    {"moment", "TIMESTAMP(6)",
     "CASE WHEN k % 31 = 0 THEN NULL ELSE TIMESTAMP '1969-12-31 12:00:00' + INTERVAL (i) MINUTE "
     "END"},
    {"millis", "TIMESTAMP(3)",
     "CASE WHEN k % 31 = 0 THEN NULL ELSE TIMESTAMP '1969-12-31 12:00:00' + INTERVAL (i) SECOND "
     "END"},
    {"nanos", "TIMESTAMP(9)",
     "CASE WHEN k % 31 = 0 THEN NULL ELSE make_timestamp_ns(i * 1000000007 - 5000000000) END"},
    {"zoned", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
     "CASE WHEN k % 37 = 0 THEN NULL ELSE TIMESTAMPTZ '2000-01-01 00:00:00+00' + INTERVAL (i) HOUR "
     "END"},
    {"clock", "TIME(3)",
     "CASE WHEN k % 37 = 0 THEN NULL ELSE TIME '00:00:00' + INTERVAL (k % "
     "86400) SECOND END"},
    {"bytes", "BYTES", "CASE WHEN k % 7 = 0 THEN NULL ELSE (k % 90)::VARCHAR::BLOB END"},
    {"inner_row", "ROW<a INT, b STRING>",
     "CASE WHEN k % 9 = 0 THEN NULL ELSE {'a': CASE WHEN k % 5 = 0 THEN NULL ELSE (i // 10)::INT "
     "END, 'b': 'b' || (k % 4)} END"},
    {"part_text", "STRING", "CASE k % 3 WHEN 0 THEN NULL ELSE 'p' || (k % 3) END"},
    {"part_day", "DATE", "CASE k % 2 WHEN 0 THEN NULL ELSE DATE '2024-02-28' + (k % 2)::INT END"},
};

class PruningProperty : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("kelda-pruning-{}-{}", getpid(), GetParam());
    ASSERT_OK_AND_ASSIGN(session_, Session::Open(SessionOptions{}));
    random_.seed(GetParam());
    Must("SET TimeZone = 'UTC'");
  }
  void TearDown() override {
    session_.reset();
    std::error_code error;
    fs::remove_all(root_, error);
  }

  duckdb::unique_ptr<duckdb::MaterializedQueryResult> Must(const std::string& sql) {
    auto result = session_->connection().Query(sql);
    EXPECT_FALSE(result->HasError()) << result->GetError() << "\nin: " << sql;
    return result;
  }

  int64_t Draw(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }

  /// A DuckDB table `model` and a Paimon table with the same rows, in several commits.
  void MakeTables() {
    std::vector<DataField> fields;
    std::string select;
    uint64_t seed = random_();
    for (const TestColumn& column : kColumns) {
      ASSERT_OK_AND_ASSIGN(DataType type, DataType::Parse(column.type));
      ASSERT_OK_AND_ASSIGN(auto logical, ToLogicalType(type, column.name));
      fields.push_back(DataField{-1, column.name, type, {}, {}});
      std::string expression = column.expression;
      const std::string hash = fmt::format("(hash(i, {}) % 1000003)::BIGINT", seed++ % 100000);
      for (size_t at = expression.find("k %"); at != std::string::npos;
           at = expression.find("k %", at + hash.size())) {
        expression.replace(at, 1, hash);
      }
      select += fmt::format("{}({})::{} AS {}", select.empty() ? "" : ", ", expression,
                            logical.ToString(), column.name);
    }
    ASSERT_OK_AND_ASSIGN(auto catalog, OpenFileSystemCatalog(root_.string(), {}, Environment()));
    Identifier id;
    id.database = "default";
    id.table = "t";
    TableDefinition definition;
    definition.fields = fields;
    definition.partition_keys = {"part_text", "part_day"};
    definition.options["parquet.block.size"] = "4096";
    ASSERT_OK(catalog->CreateTable(id, definition, false));
    ASSERT_OK_AND_ASSIGN(auto table, catalog->LoadTable(id));
    Must("CREATE TABLE model AS SELECT " + select + " FROM range(0) r(i)");
    for (int commit = 0; commit < 4; ++commit) {
      Must(fmt::format("INSERT INTO model SELECT {} FROM range({}, {}) r(i)", select, commit * 300,
                       commit * 300 + 300));
      ASSERT_NO_FATAL_FAILURE(Load(table, commit));
    }
  }

  void Load(const TableContextPtr& table, int commit) {
    auto rows = Must(fmt::format("SELECT * FROM model LIMIT 300 OFFSET {}", commit * 300));
    ASSERT_OK_AND_ASSIGN(auto converter, ChunkToArrow::Make(table->fields()));
    ASSERT_OK_AND_ASSIGN(auto writer, AppendWriter::Make(table));
    while (auto chunk = rows->Fetch()) ASSERT_OK(converter->Append(*chunk));
    ASSERT_OK_AND_ASSIGN(auto batch, converter->Finish());
    ASSERT_OK(batch->ValidateFull());
    ASSERT_OK(writer->Write(batch));
    ASSERT_OK_AND_ASSIGN(auto messages, writer->PrepareCommit());
    ASSERT_OK_AND_ASSIGN(auto committer, Committer::Make(table));
    Committable committable;
    committable.identifier = kBatchCommitIdentifier;
    committable.messages = std::move(messages);
    ASSERT_OK(committer->Commit(committable).status());
  }

  std::string Literal(const char* column) {
    auto value =
        Must(fmt::format("SELECT {0} FROM model WHERE {0} IS NOT NULL ORDER BY hash({0}, "
                         "{1}) LIMIT 1",
                         column, Draw(100000)));
    return value->GetValue(0, 0).ToSQLString();
  }

  std::string Leaf() {
    const char* operators[] = {"=", "<>", "<", "<=", ">", ">="};
    const TestColumn& column = kColumns[Draw(std::size(kColumns))];
    const char* name = column.name;
    const std::string text = name;
    if (text == "inner_row") {
      switch (Draw(4)) {
        case 0:
          return "inner_row IS NULL";
        case 1:
          return fmt::format("inner_row.b = 'b{}'", Draw(5));
        case 2:
          return "inner_row.a IS NULL";
        default:
          return fmt::format("inner_row.a {} {}", operators[Draw(6)], Draw(130));
      }
    }
    switch (Draw(9)) {
      case 0:
        return text + " IS NULL";
      case 1:
        return text + " IS NOT NULL";
      case 2:
        return fmt::format("{} IN ({}, {}, {})", name, Literal(name), Literal(name), Literal(name));
      case 3:
        return fmt::format("{} NOT IN ({}, {})", name, Literal(name), Literal(name));
      case 4:
        return fmt::format("{} BETWEEN {} AND {}", name, Literal(name), Literal(name));
      case 5:
        if (text == "name" || text == "part_text")
          return fmt::format("{} LIKE '{}%'", name,
                             text == "name" ? std::string(1, static_cast<char>('a' + Draw(14)))
                                            : fmt::format("p{}", Draw(3)));
        if (text == "flag") return Draw(2) == 0 ? "flag" : "NOT flag";
        [[fallthrough]];
      default:
        return fmt::format("{} {} {}", name, operators[Draw(6)], Literal(name));
    }
  }

  std::string Filter(int depth) {
    const int64_t kind = depth == 0 ? 0 : Draw(6);
    if (kind == 1) return fmt::format("({} OR {})", Filter(depth - 1), Filter(depth - 1));
    if (kind == 2) return fmt::format("(NOT {})", Filter(depth - 1));
    if (kind >= 3) return fmt::format("({} AND {})", Filter(depth - 1), Filter(depth - 1));
    return "(" + Leaf() + ")";
  }

  std::string Answer(const std::string& query) {
    auto result = Must(query);
    return result->HasError() ? "" : result->ToString();
  }

  fs::path root_;
  std::unique_ptr<Session> session_;
  std::mt19937_64 random_;
};

TEST_P(PruningProperty, PrunedScanEqualsUnpruned) {
  ASSERT_NO_FATAL_FAILURE(MakeTables());
  const std::string scan = fmt::format("kelda_scan('{}')", (root_ / "default.db" / "t").string());
  const std::string whole = "SELECT * FROM {} ORDER BY ALL";
  ASSERT_EQ(Answer("SELECT * FROM model ORDER BY ALL"),
            Answer("SELECT * FROM " + scan + " ORDER BY ALL"));
  for (int i = 0; i < 60; ++i) {
    const std::string filter = Filter(2);
    const char* outputs[] = {"count(*)", "count(*), sum(hash(id, name, moment))",
                             "min(id), max(id), min(day), max(small)",
                             "count(*), bit_xor(hash(COLUMNS(*)))",
                             "count(part_day), max(part_text)"};
    const std::string output = outputs[Draw(std::size(outputs))];
    // Half the time the best rows only, which gives the scan a filter that tightens while it runs.
    // Not of `real`, where 0.0 and -0.0 tie.
    const char* top = Draw(2) == 0 ? kColumns[Draw(std::size(kColumns))].name : nullptr;
    if (top != nullptr && std::string(top) == "real") top = "id";
    const auto query = [&](const std::string& source) {
      if (top == nullptr) return fmt::format("SELECT {} FROM {} WHERE {}", output, source, filter);
      return fmt::format("SELECT {0} FROM {1} WHERE {2} ORDER BY {0} DESC NULLS LAST LIMIT 5", top,
                         source, filter);
    };
    const std::string expected = Answer(query("model"));
    EXPECT_EQ(expected, Answer(query(scan))) << "DuckDB's reader: " << query(scan);
    Must("SET kelda_duckdb_parquet = false");
    EXPECT_EQ(expected, Answer(query(scan))) << "Kelda's reader: " << query(scan);
    Must("SET kelda_disable_pruning = true");
    EXPECT_EQ(expected, Answer(query(scan))) << "without pruning: " << query(scan);
    Must("RESET kelda_disable_pruning");
    Must("RESET kelda_duckdb_parquet");
    if (HasFailure()) return;
  }
}

TEST_P(PruningProperty, JoinFiltersPrune) {
  ASSERT_NO_FATAL_FAILURE(MakeTables());
  const std::string scan = fmt::format("kelda_scan('{}')", (root_ / "default.db" / "t").string());
  const char* keys[] = {"id", "name", "day", "part_text", "part_day", "price", "real", "zoned"};
  for (const char* key : keys) {
    const auto query = [&](const std::string& source) {
      return fmt::format(
          "SELECT count(*), sum(hash(s.id, s.name)) FROM {0} s JOIN (SELECT DISTINCT {1} FROM "
          "model "
          "ORDER BY hash({1}, {2}) LIMIT 3) d ON s.{1} = d.{1}",
          source, key, 17);
    };
    EXPECT_EQ(Answer(query("model")), Answer(query(scan))) << query(scan);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PruningProperty, ::testing::Values(1, 2));

}  // namespace
}  // namespace kelda::sql
