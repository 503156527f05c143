#include "kelda/base/status.h"

#include "kelda/base/cancellation.h"
#include "kelda/base/test_matchers.h"

namespace kelda {
namespace {

TEST(StatusTest, CodeTravelsWithTheStatus) {
  const auto status = Corruption("{}: bad magic at byte offset {}", "f.avro", 4);
  EXPECT_THAT(status, HasError(ErrorCode::kCorruption, "f.avro: bad magic at byte offset 4"));
  EXPECT_TRUE(IsCorruption(status));
  EXPECT_FALSE(IsNotFound(status));
  const arrow::Result<int> result = status;
  EXPECT_EQ(CodeOf(result.status()), ErrorCode::kCorruption);
}

TEST(StatusTest, ContextKeepsCodeAndDetail) {
  const auto status = WithContext(NotFound("snapshot-7"), "table db.t");
  EXPECT_EQ(status.message(), "table db.t: snapshot-7");
  EXPECT_TRUE(IsNotFound(status));
  EXPECT_TRUE(WithContext(arrow::Status::OK(), "x").ok());
  EXPECT_EQ(CodeOf(WithContext(arrow::Status::IOError("e"), "c")), ErrorCode::kNone);
}

TEST(StatusTest, PlainStatusesHaveNoCode) {
  EXPECT_EQ(CodeOf(arrow::Status::OK()), ErrorCode::kNone);
  EXPECT_EQ(CodeOf(Invalid("x")), ErrorCode::kNone);
  EXPECT_TRUE(IsUnsupported(arrow::Status::NotImplemented("x")));
  EXPECT_TRUE(IsUnsupported(Unsupported("'{}'", "file.format")));
  EXPECT_EQ(Unsupported("x").message(), "not implemented: x");
}

TEST(StatusTest, EveryCodeHasAName) {
  for (auto code : {ErrorCode::kCorruption, ErrorCode::kConflict, ErrorCode::kCommitUnknown,
                    ErrorCode::kUnsupported, ErrorCode::kCancelled, ErrorCode::kOutOfBudget,
                    ErrorCode::kNotFound, ErrorCode::kAlreadyExists}) {
    EXPECT_NE(ToString(code), "none");
    const auto status = MakeError(code, "text");
    EXPECT_EQ(CodeOf(status), code);
    EXPECT_THAT(status.ToString(), testing::HasSubstr(std::string(ToString(code))));
  }
}

TEST(CancellationTest, CopiesShareTheFlag) {
  CancellationToken token;
  const CancellationToken copy = token;
  EXPECT_OK(copy.Check());
  token.Cancel();
  EXPECT_THAT(copy.Check(), HasError(ErrorCode::kCancelled, "cancelled"));
  EXPECT_OK(CancellationToken().Check());
}

}  // namespace
}  // namespace kelda
