#include "kelda/base/bytes.h"

#include <limits>

#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

using std::string_view_literals::operator""sv;

TEST(ByteReaderTest, ReadsBothByteOrders) {
  ByteReader reader("\x01\x02\x03\x04\xff\xff\xff\xff\xff\xff\xff\xfe\x80\x00\x07\x2a"sv, "f");
  ASSERT_OK_AND_ASSIGN(int32_t be32, reader.BE32());
  EXPECT_EQ(be32, 0x01020304);
  ASSERT_OK_AND_ASSIGN(int64_t be64, reader.BE64());
  EXPECT_EQ(be64, -2);
  ASSERT_OK_AND_ASSIGN(uint16_t be16, reader.BE16());
  EXPECT_EQ(be16, 0x8000);
  ASSERT_OK_AND_ASSIGN(uint16_t le16, reader.LE<uint16_t>());
  EXPECT_EQ(le16, 0x2a07);
  EXPECT_TRUE(reader.at_end());
}

TEST(ByteReaderTest, EveryReadIsBounded) {
  const std::string_view bytes = "abc";
  for (size_t start = 0; start <= bytes.size(); ++start) {
    ByteReader reader(bytes, "data.bin");
    ASSERT_OK(reader.Skip(start));
    const auto where = fmt::format("data.bin: 4 bytes wanted at byte offset {}", start);
    EXPECT_THAT(reader.BE32(), HasError(ErrorCode::kCorruption, where));
    EXPECT_THAT(reader.LE<uint32_t>(), HasError(ErrorCode::kCorruption, where));
    EXPECT_THAT(reader.BE64(), HasError(ErrorCode::kCorruption, "8 bytes wanted"));
    EXPECT_THAT(reader.Bytes(std::numeric_limits<size_t>::max()),
                HasError(ErrorCode::kCorruption, "data.bin"));
    EXPECT_THAT(reader.Skip(bytes.size() - start + 1), HasError(ErrorCode::kCorruption, "left"));
    // A failed read takes nothing.
    EXPECT_EQ(reader.offset(), start);
    ASSERT_OK_AND_ASSIGN(auto rest, reader.Bytes(bytes.size() - start));
    EXPECT_EQ(rest, bytes.substr(start));
    EXPECT_TRUE(reader.at_end());
    EXPECT_THAT(reader.Byte(), HasError(ErrorCode::kCorruption, "offset 3, 0 left"));
    EXPECT_THAT(reader.Error("odd"), HasError(ErrorCode::kCorruption, "data.bin: odd at byte"));
  }
}

TEST(ByteReaderTest, EmptyInput) {
  ByteReader reader("", "empty");
  EXPECT_TRUE(reader.at_end());
  ASSERT_OK_AND_ASSIGN(auto nothing, reader.Bytes(0));
  EXPECT_TRUE(nothing.empty());
  EXPECT_THAT(reader.BE16(), HasError(ErrorCode::kCorruption, "empty"));
}

TEST(HexTest, RoundTripAndBadText) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const auto hex = ToHex(all);
  EXPECT_EQ(hex.substr(0, 8), "00010203");
  EXPECT_EQ(hex.substr(504), "fcfdfeff");
  ASSERT_OK_AND_ASSIGN(auto back, FromHex(hex));
  EXPECT_EQ(back, all);
  ASSERT_OK_AND_ASSIGN(auto upper, FromHex("DeAdBEEF"));
  EXPECT_EQ(upper, "\xde\xad\xbe\xef");
  EXPECT_FALSE(FromHex("abc").ok());
  EXPECT_FALSE(FromHex("0g").ok());
}

TEST(BytesTest, LoadsAndStores) {
  char bytes[9] = {};
  StoreBE64(bytes + 1, 0x0102030405060708u);  // unaligned on purpose
  EXPECT_EQ(bytes[1], 1);
  EXPECT_EQ(bytes[8], 8);
  EXPECT_EQ(LoadBE64(bytes + 1), 0x0102030405060708u);
  StoreBE32(bytes + 3, 0xcafebabeu);
  EXPECT_EQ(LoadBE32(bytes + 3), 0xcafebabeu);
  EXPECT_EQ(LoadLE<uint32_t>(bytes + 3), 0xbebafecau);
}

}  // namespace
}  // namespace kelda
