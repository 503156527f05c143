// Timestamps: the full range, zones of writers, and what the format cannot hold.

#include "kelda/format/orc/orc_time.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/orc/orc_test_util.h"
#include "kelda/row/civil_date.h"

namespace kelda {
namespace {

using namespace orc_test;  // NOLINT

std::shared_ptr<arrow::Array> Micros(const std::vector<const char*>& texts, const char* zone = "") {
  auto type = arrow::timestamp(arrow::TimeUnit::MICRO, zone);
  auto builder = Unwrap(arrow::MakeBuilder(type));
  for (const char* text : texts) {
    EXPECT_OK(builder->AppendScalar(
        *Unwrap(Unwrap(arrow::Scalar::Parse(arrow::timestamp(arrow::TimeUnit::MICRO), text))
                    ->CastTo(type))));
  }
  return Unwrap(builder->Finish());
}

/// Wall clocks that Java wrote in three zones; what it reads of them in UTC.
const std::vector<const char*> kWallClocks = {
    "0000-12-30 00:00:00",        "0004-02-27 12:00:00.5",      "1000-01-05 23:59:59.999999",
    "1500-03-09 01:02:03.000001", "1582-10-14 23:59:59.999",    "1582-10-15 00:00:00",
    "1582-10-20 00:00:00",        "1700-03-01 00:00:00.25",     "1883-11-18 12:00:00",
    "1899-12-31 23:59:59.5",      "1900-01-01 00:00:00",        "1901-01-01 00:00:00",
    "1919-04-13 12:00:00",        "1927-06-01 00:00:00.123456", "1941-03-16 12:00:00",
    "1969-12-31 23:59:58.5",      "1969-12-31 23:59:59.0005",   "1970-01-01 00:00:00",
    "1988-07-01 12:00:00",        "2015-01-01 00:00:00",        "2024-07-01 12:00:00.123456",
    "2024-12-01 12:00:00",        "2037-12-31 00:00:00",        "2038-07-01 12:00:00",
    "2099-07-01 12:00:00",        "2150-01-15 00:00:00",        "2150-07-15 00:00:00.000001",
    "9999-12-31 23:59:59.999999"};

class OrcWriterZone : public testing::TestWithParam<const char*> {};

TEST_P(OrcWriterZone, KeepsTheWallClock) {
  std::vector<DataField> fields = {Field(2, "t", DataType::Temporal(TypeRoot::kTimestamp, 6)),
                                   Field(3, "z", DataType::Temporal(TypeRoot::kTimestampLtz, 6))};
  auto read = ReadOrc(*MakeLocalFileIO(),
                      std::string(KELDA_TEST_DATA) + "/orc/" + GetParam() + ".orc", fields);
  auto expected = Micros(kWallClocks);
  auto actual = Whole(*read.table, 0);
  EXPECT_TRUE(actual->Equals(*expected)) << actual->Diff(*expected);
  // The zone of Java shifts local-zone timestamps in their default form (spec 01 §6.3).
  const auto shifted = Whole(*read.table, 1);
  const auto& zoned = static_cast<const arrow::TimestampArray&>(*shifted);
  const auto& wall = static_cast<const arrow::TimestampArray&>(*expected);
  const int64_t summer = std::string_view(GetParam()) == "shanghai" ? -8 : 4;
  EXPECT_EQ(zoned.Value(20) - wall.Value(20), summer * 3600 * 1000000);
}

INSTANTIATE_TEST_SUITE_P(Zones, OrcWriterZone, testing::Values("shanghai", "new_york"));

TEST(OrcZones, Offsets) {
  auto new_york = Unwrap(OrcZone::Make("America/New_York"));
  EXPECT_EQ(new_york->OffsetAt(1720000000), -4 * 3600);
  EXPECT_EQ(new_york->OffsetAt(1735000000), -5 * 3600);
  // Java's rules begin in 1900.
  EXPECT_EQ(new_york->OffsetAt(-3000000000), -5 * 3600);
  EXPECT_EQ(new_york->OffsetAt(-2208988800 - 1), -5 * 3600);
  // Second Sunday of March 2400, seven hours UTC.
  const int64_t change = DaysFromCivil({2400, 3, 12}) * 86400 + 7 * 3600;
  EXPECT_EQ(new_york->OffsetAt(change - 1), -5 * 3600);
  EXPECT_EQ(new_york->OffsetAt(change), -4 * 3600);
  EXPECT_EQ(Unwrap(OrcZone::Make("GMT+08:00"))->OffsetAt(0), 8 * 3600);
  EXPECT_EQ(Unwrap(OrcZone::Make("GMT-03:30"))->OffsetAt(0), -(3 * 3600 + 1800));
  EXPECT_TRUE(Unwrap(OrcZone::Make("UTC"))->utc());
  EXPECT_TRUE(Unwrap(OrcZone::Make(""))->utc());
  for (const char* name : {"Mars/Olympus", "../../etc/passwd", "/etc/passwd", "GMT+x"}) {
    EXPECT_THAT(OrcZone::Make(name), HasError(ErrorCode::kUnsupported, name));
  }
}

/// Java rounds toward zero and so moves the last second before 1970 behind it; read the same way.
TEST(OrcTimestamps, OldTimesOfJava) {
  std::vector<DataField> fields = {Field(2, "t3", DataType::Temporal(TypeRoot::kTimestamp, 3)),
                                   Field(3, "t6", DataType::Temporal(TypeRoot::kTimestamp, 6))};
  auto read =
      ReadOrc(*MakeLocalFileIO(), std::string(KELDA_TEST_DATA) + "/orc/old_times.orc", fields);
  auto expected =
      Micros({"1970-01-01 00:00:00.999999", "1900-02-28 12:30:15.250125", "1970-01-01 00:00:00",
              "9999-12-31 23:59:59.999999", "1960-02-29 00:00:00.000001"});
  EXPECT_TRUE(Whole(*read.table, 1)->Equals(*expected)) << Whole(*read.table, 1)->ToString();
}

TEST(OrcTimestamps, WhatComesBack) {
  std::vector<DataField> fields = {Field(0, "t", DataType::Temporal(TypeRoot::kTimestamp, 6)),
                                   Field(1, "z", DataType::Temporal(TypeRoot::kTimestampLtz, 6))};
  std::vector<const char*> texts = kWallClocks;
  texts.push_back("0000-01-01 00:00:00");
  texts.push_back("1582-10-10 10:10:10.10101");
  texts.push_back("1969-12-31 23:59:59");
  texts.push_back("1969-12-31 23:59:58.999999");
  Batches batches = {arrow::RecordBatch::Make(
      arrow::schema(
          {arrow::field("t", Micros({})->type()), arrow::field("z", Micros({}, "UTC")->type())}),
      static_cast<int64_t>(texts.size()), {Micros(texts), Micros(texts, "UTC")})};
  for (const char* legacy : {"true", "false"}) {
    auto io = MakeMemoryFileIO();
    WriterOptions options;
    options.format_options["orc.timestamp-ltz.legacy.type"] = legacy;
    auto written = WriteOrc(*io, "/f.orc", fields, batches, options);
    EXPECT_EQ(written.stats[0].min->ToString(), "0000-01-01 00:00:00.000000");
    ExpectTablesEqual(*ReadOrc(*io, "/f.orc", fields).table, *TableOf(fields, batches));
  }
}

TEST(OrcTimestamps, TheLastSecondBefore1970IsRefused) {
  std::vector<DataField> fields = {Field(0, "when", DataType::Temporal(TypeRoot::kTimestamp, 6))};
  for (const char* text : {"1969-12-31 23:59:59.001", "1969-12-31 23:59:59.999999"}) {
    auto io = MakeMemoryFileIO();
    auto writer = Unwrap(Unwrap(FindFormat("orc"))->CreateWriter(*io, "/f.orc", fields, {}));
    auto column = Micros({text});
    auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("when", column->type())}), 1,
                                          {column});
    EXPECT_THAT(writer->Write(*batch), HasError(ErrorCode::kUnsupported, "'when'"));
    EXPECT_THAT(writer->Finish(), HasError(ErrorCode::kUnsupported, "1970"));
    writer.reset();
    EXPECT_FALSE(Unwrap(io->Exists("/f.orc")));
  }
}

TEST(OrcTimestamps, NanosecondsOutOfRangeAreAnError) {
  std::vector<DataField> micros = {Field(0, "t", DataType::Temporal(TypeRoot::kTimestamp, 6))};
  std::vector<DataField> nanos = {Field(0, "t", DataType::Temporal(TypeRoot::kTimestamp, 9))};
  auto io = MakeMemoryFileIO();
  auto column = Micros({"9999-01-01 00:00:00"});
  WriteOrc(
      *io, "/f.orc", micros,
      {arrow::RecordBatch::Make(arrow::schema({arrow::field("t", column->type())}), 1, {column})});
  ReadOptions options;
  options.columns = nanos;
  auto read = TryReadOrc(*io, "/f.orc", options);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("'t'"), std::string::npos) << read.status().ToString();
}

}  // namespace
}  // namespace kelda
