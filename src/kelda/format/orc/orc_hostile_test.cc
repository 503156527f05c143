// Damaged files: an error that names the file, or rows; never a crash, nor memory without end.

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "kelda/base/test_matchers.h"
#include "kelda/format/orc/orc_codec.h"
#include "kelda/format/orc/orc_metadata.h"
#include "kelda/format/orc/orc_test_util.h"
#include "kelda/format/orc/orc_wire.h"

namespace kelda {
namespace {

using namespace orc_test;  // NOLINT

class DamagedOrc : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    RandomOrc source(static_cast<uint64_t>(GetParam()) + 3000);
    source.random.repetitive = GetParam() % 2 == 0;
    fields_ = source.Schema(3, GetParam() % 3);
    Batches batches = {source.random.Batch(fields_, 1100)};
    WriterOptions options;
    const char* const kCodecs[] = {"none", "zstd", "snappy", "zlib", "lz4"};
    options.compression = kCodecs[GetParam() % 5];
    options.format_options["orc.row.index.stride"] = "1000";
    auto io = MakeMemoryFileIO();
    WriteOrc(*io, "/f.orc", fields_, batches, options);
    bytes_ = Unwrap(io->ReadAll("/f.orc"));
    expected_ = TableOf(fields_, batches);
  }

  arrow::Result<ReadBack> Read(const std::string& bytes, PredicatePtr predicate = {},
                               std::shared_ptr<RowRanges> rows = {}) {
    auto io = MakeMemoryFileIO();
    PutFile(*io, "/broken.orc", bytes);
    ReadOptions options;
    options.columns = fields_;
    options.predicate = std::move(predicate);
    options.rows = std::move(rows);
    return TryReadOrc(*io, "/broken.orc", options);
  }

  void ExpectErrorOrRows(const arrow::Result<ReadBack>& read, const std::string& what) {
    // Times of day have no range in Paimon: "25:00:00" is cast to 25 hours.
    if (read.ok() || read.status().message().find("time32[ms]") != std::string::npos) {
      ++accepted_;
      return;
    }
    ++refused_;
    const auto& status = read.status();
    // A timestamp of nanoseconds may leave its range.
    EXPECT_TRUE(IsCorruption(status) || IsUnsupported(status) || status.IsInvalid() ||
                status.IsCapacityError())
        << what << ": " << status.ToString();
    EXPECT_NE(status.message().find("/broken.orc"), std::string::npos) << status.ToString();
  }

  std::vector<DataField> fields_;
  std::string bytes_;
  std::shared_ptr<arrow::Table> expected_;
  int accepted_ = 0;
  int refused_ = 0;
};

TEST_P(DamagedOrc, Truncated) {
  for (size_t length = 0; length < bytes_.size(); length += 1 + length / 60) {
    auto read = Read(bytes_.substr(0, length));
    EXPECT_FALSE(read.ok()) << length;
    ExpectErrorOrRows(read, "length " + std::to_string(length));
  }
  EXPECT_FALSE(Read(bytes_.substr(10)).ok());
}

TEST_P(DamagedOrc, FlippedBits) {
  auto last_group = std::make_shared<RowRanges>();
  last_group->Add(1050, 1051);
  uint64_t state = static_cast<uint64_t>(GetParam());
  for (size_t round = 0; round < 400; ++round) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::string damaged = bytes_;
    // The tail is hit more often than by chance.
    const size_t at = round % 2 == 0 ? (state >> 33) % damaged.size()
                                     : damaged.size() - 1 - (state >> 33) % 600 % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (state >> 20) % 8));
    const std::string what = "byte " + std::to_string(at);
    ExpectErrorOrRows(Read(damaged), what);
    ExpectErrorOrRows(Read(damaged, Leaf(PredicateOp::kIsNotNull, {fields_[0].name}, {})), what);
    ExpectErrorOrRows(Read(damaged, {}, last_group), what);
  }
  EXPECT_GT(refused_, 0);
}

TEST_P(DamagedOrc, RandomBytes) {
  uint64_t state = static_cast<uint64_t>(GetParam()) + 77;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = bytes_;
    for (int i = 0; i < 4; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      damaged[(state >> 33) % damaged.size()] = static_cast<char>(state >> 25);
    }
    ExpectErrorOrRows(Read(damaged), "round " + std::to_string(round));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, DamagedOrc, testing::Range(0, 15));

/// Every byte of a small file, whatever stands there.
TEST(OrcHostile, EachByte) {
  const std::vector<DataField> fields = {
      Field(0, "a", DataType(TypeRoot::kInt)), Field(1, "s", DataType::String()),
      Field(2, "l", DataType::Array(DataType(TypeRoot::kBigInt)))};
  RandomOrc source(1);
  source.random.repetitive = true;
  auto io = MakeMemoryFileIO();
  WriteOrc(*io, "/f.orc", fields, {source.random.Batch(fields, 20)});
  const std::string bytes = Unwrap(io->ReadAll("/f.orc"));
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(value);
      auto memory = MakeMemoryFileIO();
      PutFile(*memory, "/f.orc", damaged);
      ReadOptions options;
      options.columns = fields;
      auto read = TryReadOrc(*memory, "/f.orc", options);
      if (read.ok()) continue;
      EXPECT_TRUE(IsCorruption(read.status()) || IsUnsupported(read.status()) ||
                  read.status().IsCapacityError())
          << at << ": " << read.status().ToString();
    }
  }
}

/// A file made by hand around streams that lie.
class HandMade {
 public:
  HandMade() { out_ = "ORC"; }

  /// One stripe of `rows` rows with the streams of column 1, which is of `kind`.
  std::string Build(OrcKind kind, uint64_t rows,
                    const std::vector<std::pair<OrcStreamKind, std::string>>& streams,
                    OrcColumnEncoding encoding = {OrcEncoding::kDirectV2, 0}) {
    OrcStripe stripe;
    stripe.offset = out_.size();
    stripe.rows = rows;
    OrcStripeFooter stripe_footer;
    stripe_footer.encodings = {{OrcEncoding::kDirect, 0}, encoding};
    for (const auto& [stream_kind, bytes] : streams) {
      stripe_footer.streams.push_back({stream_kind, 1, 0, bytes.size()});
      stripe.data_length += bytes.size();
      out_ += bytes;
    }
    const std::string footer_bytes = SerializeStripeFooter(stripe_footer);
    stripe.footer_length = footer_bytes.size();
    out_ += footer_bytes;
    OrcType root;
    root.children = {1};
    root.names = {"c"};
    OrcType column;
    column.kind = kind;
    WireWriter footer;
    footer.Bytes(3, SerializeStripe(stripe));
    footer.Bytes(4, SerializeType(root));
    footer.Bytes(4, SerializeType(column));
    footer.Number(6, rows);
    out_ += footer.bytes();
    OrcPostScript post;
    post.footer_length = footer.bytes().size();
    const std::string post_bytes = SerializePostScript(post);
    out_ += post_bytes;
    out_ += static_cast<char>(post_bytes.size());
    return out_;
  }

 private:
  std::string out_;
};

arrow::Status ReadColumn(const std::string& bytes, const DataType& type) {
  auto io = MakeMemoryFileIO();
  PutFile(*io, "/lie.orc", bytes);
  ReadOptions options;
  options.columns = {Field(0, "c", type)};
  return TryReadOrc(*io, "/lie.orc", options).status();
}

std::string Hex(const char* hex) { return *FromHex(hex); }

TEST(OrcHostile, LengthsThatLie) {
  // Five texts of 2^31 bytes each: more than one batch may hold, and then none are there.
  EXPECT_THAT(ReadColumn(HandMade().Build(OrcKind::kString, 5,
                                          {{OrcStreamKind::kData, "x"},
                                           {OrcStreamKind::kLength, Hex("1a7fffffff")}}),
                         DataType::String()),
              testing::Not(HasError(ErrorCode::kNone, "none")));
  // One of 2^30 bytes.
  EXPECT_THAT(ReadColumn(HandMade().Build(OrcKind::kString, 1,
                                          {{OrcStreamKind::kData, "x"},
                                           {OrcStreamKind::kLength, Hex("5e0040000000")}}),
                         DataType::String()),
              HasError(ErrorCode::kCorruption, "/lie.orc"));
  // A dictionary of 2^60 entries.
  EXPECT_THAT(ReadColumn(HandMade().Build(OrcKind::kString, 1,
                                          {{OrcStreamKind::kData, Hex("0000")},
                                           {OrcStreamKind::kLength, Hex("0201")},
                                           {OrcStreamKind::kDictionaryData, "abc"}},
                                          {OrcEncoding::kDictionaryV2, uint64_t{1} << 60}),
                         DataType::String()),
              HasError(ErrorCode::kCorruption, "/lie.orc"));
  // An index behind the dictionary.
  EXPECT_THAT(ReadColumn(HandMade().Build(OrcKind::kString, 3,
                                          {{OrcStreamKind::kData, Hex("0007")},
                                           {OrcStreamKind::kLength, Hex("0001")},
                                           {OrcStreamKind::kDictionaryData, "abc"}},
                                          {OrcEncoding::kDictionaryV2, 3}),
                         DataType::String()),
              HasError(ErrorCode::kCorruption, "dictionary"));
  // Text that is none.
  EXPECT_THAT(ReadColumn(HandMade().Build(OrcKind::kString, 3,
                                          {{OrcStreamKind::kData, "\xff\xfe\xfd"},
                                           {OrcStreamKind::kLength, Hex("0001")}}),
                         DataType::String()),
              HasError(ErrorCode::kCorruption, "UTF-8"));
  // A number that does not fit its type.
  EXPECT_THAT(
      ReadColumn(HandMade().Build(OrcKind::kShort, 3, {{OrcStreamKind::kData, Hex("10ffffff")}}),
                 DataType(TypeRoot::kSmallInt)),
      HasError(ErrorCode::kCorruption, "out of range"));
  // The same as it should be.
  EXPECT_OK(ReadColumn(HandMade().Build(OrcKind::kShort, 3, {{OrcStreamKind::kData, Hex("0002")}}),
                       DataType(TypeRoot::kSmallInt)));
}

TEST(OrcHostile, RowsWithoutData) {
  const DataType type(TypeRoot::kInt);
  EXPECT_THAT(ReadColumn(HandMade().Build(OrcKind::kInt, uint64_t{1} << 60, {}), type),
              HasError(ErrorCode::kCorruption, "rows"));
  EXPECT_THAT(ReadColumn(HandMade().Build(OrcKind::kInt, 10, {{OrcStreamKind::kData, ""}}), type),
              HasError(ErrorCode::kCorruption, "DATA"));
  EXPECT_THAT(
      ReadColumn(HandMade().Build(OrcKind::kInt, 10, {{OrcStreamKind::kSecondary, "x"}}), type),
      HasError(ErrorCode::kCorruption, "DATA"));
}

TEST(OrcHostile, SizeDiffersFromTheManifest) {
  const std::vector<DataField> fields = RandomOrc(1).Schema(2, 0);
  RandomOrc source(2);
  auto io = MakeMemoryFileIO();
  auto written = WriteOrc(*io, "/f.orc", fields, {source.random.Batch(fields, 10)});
  ReadOptions options;
  options.columns = fields;
  EXPECT_OK(TryReadOrc(*io, "/f.orc", options, written.size_bytes).status());
  EXPECT_THAT(TryReadOrc(*io, "/f.orc", options, written.size_bytes + 1),
              HasError(ErrorCode::kCorruption, "/f.orc"));
}

TEST(OrcHostile, CompressedBombs) {
  auto codec = Unwrap(OrcCodec::Make(OrcCompression::kZstd, 1 << 18));
  std::string out;
  ASSERT_OK(codec->CompressChunk(std::string(1 << 18, 'x'), &out));
  EXPECT_EQ(Unwrap(codec->DecompressAll(out, 1 << 18)).size(), size_t{1} << 18);
  EXPECT_THAT(codec->DecompressAll(out + out, 1 << 18), HasError(ErrorCode::kCorruption, "bytes"));
  // A chunk that is longer than the block size says.
  auto smaller = Unwrap(OrcCodec::Make(OrcCompression::kZstd, 1 << 10));
  EXPECT_THAT(smaller->DecompressAll(out, 1 << 20), HasError(ErrorCode::kCorruption, "chunk"));
}

}  // namespace
}  // namespace kelda
