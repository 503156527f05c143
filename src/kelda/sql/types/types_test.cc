#include <gtest/gtest.h>

#include "duckdb/main/connection.hpp"
#include "duckdb/main/database.hpp"
#include "duckdb/main/materialized_query_result.hpp"

#include "kelda/base/test_matchers.h"
#include "kelda/sql/types/arrow_to_chunk.h"
#include "kelda/sql/types/chunk_to_arrow.h"
#include "kelda/sql/types/logical_type.h"
#include "kelda/sql/types/value.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda::sql {
namespace {

using duckdb::LogicalType;
using duckdb::Value;

class SqlTypes : public ::testing::Test {
 protected:
  SqlTypes() : database_(nullptr), connection_(database_) {
    connection_.Query("SET TimeZone = 'UTC'");
  }

  duckdb::unique_ptr<duckdb::MaterializedQueryResult> Query(const std::string& sql) {
    auto result = connection_.Query(sql);
    EXPECT_FALSE(result->HasError()) << result->GetError() << " in " << sql;
    return result;
  }

  static DataField Field(const std::string& type) {
    auto parsed = DataType::Parse(type);
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    std::vector<DataField> fields{DataField{-1, "c", *parsed, {}, {}}};
    AssignFieldIds(&fields);
    return fields[0];
  }

  static std::string SqlType(const DataField& field) {
    return ToLogicalType(field.type, field.name).ValueOrDie().ToString();
  }

  /// The column of a query as one Arrow batch.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ToArrow(const DataField& field,
                                                             const std::string& sql) {
    auto rows = Query(sql);
    ARROW_ASSIGN_OR_RAISE(auto converter, ChunkToArrow::Make({field}));
    while (auto chunk = rows->Fetch()) ARROW_RETURN_NOT_OK(converter->Append(*chunk));
    ARROW_ASSIGN_OR_RAISE(auto batch, converter->Finish());
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    return batch;
  }

  /// `sql` gives one column; it must come back the same from Arrow, from any offset.
  void ExpectRoundTrip(const std::string& type, const std::string& sql) {
    SCOPED_TRACE(type + ": " + sql);
    const DataField field = Field(type);
    ASSERT_OK_AND_ASSIGN(auto batch, ToArrow(field, sql));
    ASSERT_OK_AND_ASSIGN(auto schema, ToArrowSchema({field}));
    ASSERT_TRUE(batch->schema()->Equals(*schema)) << batch->schema()->ToString();
    auto rows = Query(sql);
    ASSERT_OK_AND_ASSIGN(auto logical, ToLogicalType(field.type, "c"));
    for (int64_t offset : {int64_t{0}, int64_t{1}, int64_t{2047}, int64_t{2050}}) {
      if (offset >= batch->num_rows()) break;
      const int64_t count = std::min<int64_t>(2048, batch->num_rows() - offset);
      // A slice has an offset of its own.
      auto slice = batch->Slice(offset / 2);
      duckdb::DataChunk chunk;
      chunk.Initialize(duckdb::Allocator::DefaultAllocator(), {logical});
      ASSERT_OK(ToDataChunk(slice, {field}, offset - offset / 2, count, &chunk));
      chunk.SetCardinality(static_cast<duckdb::idx_t>(count));
      chunk.Verify();
      for (int64_t row = 0; row < count; ++row) {
        const Value expected = rows->GetValue(0, static_cast<duckdb::idx_t>(offset + row));
        const Value actual = chunk.GetValue(0, static_cast<duckdb::idx_t>(row));
        ASSERT_TRUE(Value::NotDistinctFrom(expected, actual))
            << "row " << offset + row << ": " << expected.ToString() << " became "
            << actual.ToString();
      }
    }
  }

  duckdb::DuckDB database_;
  duckdb::Connection connection_;
};

TEST_F(SqlTypes, EveryTypeThereAndBack) {
  const std::pair<const char*, const char*> cases[] = {
      {"BOOLEAN", "i % 2 = 0"},
      {"TINYINT", "(i % 256 - 128)"},
      {"SMALLINT", "(i * 7 % 65536 - 32768)"},
      {"INT", "(i * 800011 - 2147483648)"},
      {"BIGINT", "-9223372036854775808 + i"},
      {"FLOAT", "CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' ELSE (i / 3)::VARCHAR END"},
      {"DOUBLE", "CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0.0' ELSE (i / 3)::VARCHAR END"},
      {"DECIMAL(4, 2)", "(i % 19999 - 9999) / 100"},
      {"DECIMAL(9, 0)", "i - 999999999"},
      {"DECIMAL(18, 3)", "'-999999999999999.' || lpad((i % 1000)::VARCHAR, 3, '0')"},
      {"DECIMAL(38, 10)", "'-9999999999999999999999999999.' || lpad(i::VARCHAR, 10, '0')"},
      {"CHAR(5)", "(i % 100000)::VARCHAR"},
      {"STRING",
       "CASE i % 3 WHEN 0 THEN '' WHEN 1 THEN 'é日本😀' ELSE repeat('long', i::INT % 50) END"},
      {"BYTES", "('\\x00\\xFF' || i)"},
      {"DATE", "DATE '0001-01-01' + (i * 1000)::INT"},
      {"TIME(0)", "TIME '00:00:00' + INTERVAL (i) SECOND"},
      {"TIME(3)", "TIME '23:59:59.999' - INTERVAL (i) MILLISECOND"},
      {"TIMESTAMP(0)", "TIMESTAMP '0001-01-01' + INTERVAL (i) DAY"},
      {"TIMESTAMP(2)", "TIMESTAMP '1969-12-31 23:59:59' + INTERVAL (i * 10) MILLISECOND"},
      {"TIMESTAMP(3)", "TIMESTAMP '1969-12-31 23:59:59' + INTERVAL (i) MILLISECOND"},
      {"TIMESTAMP(6)", "TIMESTAMP '1969-12-31 23:59:59' + INTERVAL (i) MICROSECOND"},
      {"TIMESTAMP(9)", "make_timestamp_ns(i * 1000000007 - 5000000000)"},
      {"TIMESTAMP(0) WITH LOCAL TIME ZONE", "TIMESTAMPTZ '1900-01-01' + INTERVAL (i) DAY"},
      {"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMPTZ '1900-01-01' + INTERVAL (i) MILLISECOND"},
      {"TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMPTZ '1900-01-01' + INTERVAL (i) MICROSECOND"},
      {"TIMESTAMP(9) WITH LOCAL TIME ZONE", "TIMESTAMPTZ '1900-01-01' + INTERVAL (i) MICROSECOND"},
      {"ARRAY<STRING>",
       "list_transform(range(i % 5), x -> CASE WHEN x = 2 THEN NULL ELSE 'v' || x END)"},
      {"ARRAY<ARRAY<INT>>", "[range(i % 3), NULL, [NULL, i]]"},
      {"MAP<STRING, DECIMAL(10, 2)>", "MAP {'a' || i: i / 4, 'b': NULL}"},
      {"MULTISET<INT>", "MAP {i: 1, i + 1: 2}"},
      {"ROW<a INT, b ROW<c STRING, d ARRAY<DATE>>>",
       "{'a': CASE WHEN i % 4 = 0 THEN NULL ELSE i END, 'b': CASE WHEN i % 3 = 0 THEN NULL ELSE "
       "{'c': "
       "'text of some length ' || i, 'd': [DATE '2020-01-01', NULL]} END}"},
      {"ARRAY<ROW<k STRING, v BOOLEAN>>", "[{'k': 'k' || i, 'v': i % 2 = 0}, NULL]"},
  };
  for (const auto& [type, expression] : cases) {
    const std::string cast = fmt::format("({})::{}", expression, SqlType(Field(type)));
    ExpectRoundTrip(type, fmt::format("SELECT {} FROM range(2500) r(i)", cast));
    ExpectRoundTrip(type, fmt::format("SELECT CASE WHEN i % 7 = 0 THEN NULL ELSE {} END FROM "
                                      "range(4500) r(i)",
                                      cast));
    // Constant and dictionary vectors.
    ExpectRoundTrip(type,
                    fmt::format("SELECT (SELECT {} FROM range(3, 4) r(i)) FROM range(10)", cast));
    ExpectRoundTrip(type,
                    fmt::format("SELECT c FROM (SELECT {} AS c, i FROM range(5000) r(i)) WHERE "
                                "hash(i) % 3 = 0 OR i = 4",
                                cast));
    ExpectRoundTrip(type, fmt::format("SELECT NULL::{} FROM range(3)", SqlType(Field(type))));
  }
}

TEST_F(SqlTypes, ValuesThatDoNotFitAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"DATE", "'infinity'::DATE"},
      {"DATE", "'-infinity'::DATE"},
      {"TIMESTAMP(6)", "'infinity'::TIMESTAMP"},
      {"TIMESTAMP(0)", "'-infinity'::TIMESTAMP_S"},
      {"TIMESTAMP(6) WITH LOCAL TIME ZONE", "'infinity'::TIMESTAMPTZ"},
      {"TIMESTAMP(4)", "TIMESTAMP '2020-01-01 00:00:00.000001'"},
      {"TIMESTAMP(1)", "'2020-01-01 00:00:00.01'::TIMESTAMP_MS"},
      {"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMPTZ '2020-01-01 00:00:00.0001'"},
      {"TIMESTAMP(9) WITH LOCAL TIME ZONE", "TIMESTAMPTZ '9999-01-01 00:00:00'"},
      {"TIME(3)", "TIME '24:00:00'"},
      {"TIME(3)", "TIME '10:00:00.000001'"},
      {"TIME(0)", "TIME '10:00:00.5'"},
      {"ARRAY<DATE>", "['infinity'::DATE]"},
      {"ROW<a TIME(0)>", "{'a': TIME '24:00:00'}"},
  };
  for (const auto& [type, expression] : cases) {
    SCOPED_TRACE(fmt::format("{}: {}", type, expression));
    const arrow::Status status =
        ToArrow(Field(type), fmt::format("SELECT {}", expression)).status();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(
        status.message().find(std::string(type).starts_with("ROW") ? "column 'a'" : "column 'c'"),
        std::string::npos)
        << status.ToString();
  }
}

TEST_F(SqlTypes, AnotherTypeIsRefused) {
  EXPECT_THAT(ToArrow(Field("INT"), "SELECT 1::BIGINT"),
              HasError(ErrorCode::kNone, "expected values of type INTEGER, got BIGINT"));
}

TEST_F(SqlTypes, StoredValuesThatSqlCannotHold) {
  duckdb::DataChunk chunk;
  const auto convert = [&](const std::string& type, std::shared_ptr<arrow::Array> array) {
    const DataField field = Field(type);
    duckdb::DataChunk out;
    out.Initialize(duckdb::Allocator::DefaultAllocator(),
                   {ToLogicalType(field.type, "c").ValueOrDie()});
    auto batch =
        arrow::RecordBatch::Make(ToArrowSchema({field}).ValueOrDie(), array->length(), {array});
    return ToDataChunk(batch, {field}, 0, array->length(), &out);
  };
  arrow::TimestampBuilder nanos(arrow::timestamp(arrow::TimeUnit::NANO, "UTC"),
                                arrow::default_memory_pool());
  ASSERT_OK(nanos.Append(1001));
  EXPECT_THAT(convert("TIMESTAMP(9) WITH LOCAL TIME ZONE", nanos.Finish().ValueOrDie()),
              HasError(ErrorCode::kNone, "column 'c'"));
  arrow::Time32Builder time(arrow::time32(arrow::TimeUnit::MILLI), arrow::default_memory_pool());
  ASSERT_OK(time.Append(86400000));
  EXPECT_THAT(convert("TIME(3)", time.Finish().ValueOrDie()),
              HasError(ErrorCode::kNone, "column 'c'"));
  arrow::StringBuilder text;
  ASSERT_OK(text.Append("fine"));
  ASSERT_OK(text.Append("not \xC3\x28 fine"));
  EXPECT_THAT(convert("STRING", text.Finish().ValueOrDie()),
              HasError(ErrorCode::kCorruption, "column 'c'"));
  // Both halves of a character in different strings: together they are UTF-8, alone they are not.
  ASSERT_OK(text.Append("\xC3"));
  ASSERT_OK(text.Append("\xA9"));
  EXPECT_THAT(convert("STRING", text.Finish().ValueOrDie()),
              HasError(ErrorCode::kCorruption, "column 'c'"));
  arrow::Decimal128Builder decimal(arrow::decimal128(4, 0));
  ASSERT_OK(decimal.Append(arrow::Decimal128(1234567)));
  EXPECT_THAT(convert("DECIMAL(4, 0)", decimal.Finish().ValueOrDie()),
              HasError(ErrorCode::kNone, "column 'c'"));
}

TEST_F(SqlTypes, ScalarsThereAndBack) {
  const std::pair<const char*, const char*> cases[] = {
      {"BOOLEAN", "true"},
      {"TINYINT", "-128"},
      {"BIGINT", "-9223372036854775808"},
      {"DOUBLE", "'-0.0'::DOUBLE"},
      {"DECIMAL(4, 2)", "-99.99"},
      {"DECIMAL(38, 10)", "'-9999999999999999999999999999.0000000001'::DECIMAL(38, 10)"},
      {"STRING", "'日本'"},
      {"BYTES", "'\\x00\\xFF'::BLOB"},
      {"DATE", "DATE '0001-01-01'"},
      {"TIME(3)", "TIME '23:59:59.999'"},
      {"TIMESTAMP(0)", "'1969-12-31 23:59:59'::TIMESTAMP_S"},
      {"TIMESTAMP(3)", "'1969-12-31 23:59:59.001'::TIMESTAMP_MS"},
      {"TIMESTAMP(6)", "'1969-12-31 23:59:59.000001'::TIMESTAMP"},
      {"TIMESTAMP(9)", "'1969-12-31 23:59:59.000000001'::TIMESTAMP_NS"},
      {"TIMESTAMP(3) WITH LOCAL TIME ZONE", "'1969-12-31 23:59:59.001+00'::TIMESTAMPTZ"},
      {"TIMESTAMP(9) WITH LOCAL TIME ZONE", "'1969-12-31 23:59:59.000001+00'::TIMESTAMPTZ"},
  };
  for (const auto& [type, expression] : cases) {
    SCOPED_TRACE(type);
    const DataField field = Field(type);
    const Value value =
        Query(fmt::format("SELECT ({})::{}", expression, SqlType(field)))->GetValue(0, 0);
    ASSERT_OK_AND_ASSIGN(auto scalar, ToScalar(value, field.type, "c"));
    EXPECT_TRUE(scalar->type->Equals(*ToArrowType(field.type).ValueOrDie()));
    ASSERT_OK_AND_ASSIGN(Value back, ToValue(*scalar, field.type, "c"));
    EXPECT_TRUE(back.type() == value.type());
    EXPECT_TRUE(Value::NotDistinctFrom(value, back)) << back.ToString();
    ASSERT_OK_AND_ASSIGN(auto null, ToScalar(Value(value.type()), field.type, "c"));
    EXPECT_FALSE(null->is_valid);
  }
  EXPECT_THAT(ToScalar(Value::DATE(duckdb::date_t::infinity()), DataType(TypeRoot::kDate), "c"),
              HasError(ErrorCode::kNone, "column 'c'"));
}

TEST_F(SqlTypes, PaimonTypesForQueries) {
  const std::pair<const char*, const char*> cases[] = {
      {"UTINYINT", "SMALLINT"},
      {"UBIGINT", "DECIMAL(20, 0)"},
      {"HUGEINT", "DECIMAL(38, 0)"},
      {"UUID", "STRING"},
      {"ENUM('a', 'b')", "STRING"},
      {"TIMESTAMP", "TIMESTAMP(6)"},
      {"TIMESTAMPTZ", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
      {"TIMESTAMP_NS", "TIMESTAMP(9)"},
      {"TIME", "TIME(3)"},
      {"INTEGER[3]", "ARRAY<INT>"},
      {"MAP(VARCHAR, INTEGER[])", "MAP<STRING NOT NULL, ARRAY<INT>>"},
      {"DECIMAL(12, 3)", "DECIMAL(12, 3)"},
  };
  for (const auto& [sql, paimon] : cases) {
    SCOPED_TRACE(sql);
    const LogicalType type = Query(fmt::format("SELECT NULL::{}", sql))->types[0];
    ASSERT_OK_AND_ASSIGN(DataType actual, FromLogicalType(type, "c"));
    ASSERT_OK_AND_ASSIGN(DataType expected, DataType::Parse(paimon));
    EXPECT_TRUE(actual == expected) << actual.ToString();
  }
  for (const char* sql : {"INTERVAL", "BIT", "UHUGEINT", "TIMETZ", "UNION(a INTEGER, b VARCHAR)"}) {
    const LogicalType type = Query(fmt::format("SELECT NULL::{}", sql))->types[0];
    EXPECT_THAT(FromLogicalType(type, "c"),
                HasError(ErrorCode::kUnsupported, "column 'c' of type "));
  }
}

}  // namespace
}  // namespace kelda::sql
