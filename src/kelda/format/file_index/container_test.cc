#include "kelda/format/file_index/container.h"

#include <arrow/util/logging.h>
#include <gtest/gtest.h>

#include "kelda/base/bytes.h"
#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

arrow::Result<IndexContainer> Open(const std::string& bytes) {
  return IndexContainer::Open(IndexInput::FromMemory(bytes, "f.index"));
}

std::string Utf(std::string_view text) {
  std::string out;
  ARROW_CHECK_OK(AppendJavaUtf(text, &out));
  return ToHex(out);
}

TEST(IndexContainer, HasTheBytesOfTheSpecification) {
  const std::string hex =
      "00054e4ed01a35ae0000000100000035000000010001610000"
      "0001000c626c6f6f6d2d66696c746572000000350000000900000000"
      "00000003300100c841";
  const std::string body = FromHex("00000003300100c841").ValueOrDie();
  ASSERT_OK_AND_ASSIGN(auto bytes, EncodeIndexContainer({{"a", "bloom-filter", body}}));
  EXPECT_EQ(ToHex(bytes), hex);
  ASSERT_OK_AND_ASSIGN(auto container, Open(bytes));
  ASSERT_EQ(container.places().size(), 1u);
  const auto& place = container.places()[0];
  EXPECT_EQ(place.column, "a");
  EXPECT_EQ(place.type, "bloom-filter");
  EXPECT_EQ(place.start, 0x35);
  ASSERT_OK_AND_ASSIGN(auto read, container.Blob(place).Read(0, place.length));
  EXPECT_EQ(std::string_view(*read), body);
}

TEST(IndexContainer, KeepsSeveralIndexesAndThoseWithoutRows) {
  ASSERT_OK_AND_ASSIGN(
      auto bytes, EncodeIndexContainer({{"a", "x", "1"}, {"a", "y", "22"}, {"b[k]", "x", {}}}));
  ASSERT_OK_AND_ASSIGN(auto container, Open(bytes));
  ASSERT_EQ(container.places().size(), 3u);
  EXPECT_EQ(container.places()[1].start, container.places()[0].start + 1);
  EXPECT_EQ(container.places()[1].length, 2);
  EXPECT_EQ(container.places()[2].column, "b[k]");
  EXPECT_FALSE(container.places()[2].fed);
}

TEST(IndexContainer, SkipsRedundantBytesOfLaterVersions) {
  ASSERT_OK_AND_ASSIGN(auto bytes, EncodeIndexContainer({{"a", "x", "1"}}));
  // Four more bytes in the head, which the head length covers; the index starts behind them.
  std::string grown =
      bytes.substr(0, bytes.size() - 5) + FromHex("00000004").ValueOrDie() + "more" + "1";
  StoreBE32(grown.data() + 12, LoadBE32(bytes.data() + 12) + 4);
  const size_t start = bytes.size() - 5 - 8;
  StoreBE32(grown.data() + start, LoadBE32(bytes.data() + start) + 4);
  ASSERT_OK_AND_ASSIGN(auto container, Open(grown));
  ASSERT_OK_AND_ASSIGN(auto read, container.Blob(container.places()[0]).Read(0, 1));
  EXPECT_EQ(std::string_view(*read), "1");
}

TEST(IndexContainer, NamesAreModifiedUtf8) {
  EXPECT_EQ(Utf("a"), "000161");
  EXPECT_EQ(Utf("é日"), "0005c3a9e697a5");
  EXPECT_EQ(Utf("😀"), "0006eda0bdedb880");
  EXPECT_EQ(Utf(std::string_view("\0", 1)), "0002c080");
  std::string out;
  EXPECT_FALSE(AppendJavaUtf("\xff", &out).ok());
  EXPECT_FALSE(AppendJavaUtf(std::string(70000, 'a'), &out).ok());
  const std::string name("n\0é日😀", 11);
  ASSERT_OK_AND_ASSIGN(auto bytes, EncodeIndexContainer({{name, "x", "1"}}));
  ASSERT_OK_AND_ASSIGN(auto container, Open(bytes));
  EXPECT_EQ(container.places()[0].column, name);
}

TEST(IndexContainer, DamageNamesFileAndPlace) {
  ASSERT_OK_AND_ASSIGN(const std::string good, EncodeIndexContainer({{"a", "x", "1234"}}));
  EXPECT_THAT(Open(""), HasError(ErrorCode::kCorruption, "f.index"));
  EXPECT_THAT(Open("x" + good), HasError(ErrorCode::kCorruption, "magic"));
  const auto with = [&](size_t place, uint32_t value) {
    std::string bytes = good;
    StoreBE32(bytes.data() + place, value);
    return bytes;
  };
  EXPECT_THAT(Open(with(8, 2)), HasError(ErrorCode::kCorruption, "version 2"));
  EXPECT_THAT(Open(with(12, 4)), HasError(ErrorCode::kCorruption, "head of 4 bytes"));
  EXPECT_THAT(Open(with(12, 1000)), HasError(ErrorCode::kCorruption, "head of 1000 bytes"));
  EXPECT_THAT(Open(with(16, 0x7fffffff)), HasError(ErrorCode::kCorruption, "byte offset"));
  EXPECT_THAT(Open(with(16, 0xffffffff)), HasError(ErrorCode::kCorruption, "column count is -1"));
  // Start and length of the index.
  EXPECT_THAT(Open(with(30, 5)), HasError(ErrorCode::kCorruption, "index at 5"));
  EXPECT_THAT(Open(with(34, 5)), HasError(ErrorCode::kCorruption, "of 5 bytes"));
  EXPECT_THAT(Open(with(30, 0xffffffff)), HasError(ErrorCode::kCorruption, "without rows"));
}

}  // namespace
}  // namespace kelda
