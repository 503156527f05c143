#pragma once

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelda/base/status.h"

// GoogleTest for arrow::Status and arrow::Result. Included by tests only.

namespace kelda {

inline const arrow::Status& ToStatus(const arrow::Status& status) { return status; }
template <typename T>
arrow::Status ToStatus(const arrow::Result<T>& result) {
  return result.status();
}

inline testing::AssertionResult IsOk(const arrow::Status& status) {
  return status.ok() ? testing::AssertionSuccess()
                     : testing::AssertionFailure() << status.ToString();
}

/// EXPECT_THAT(call, HasError(ErrorCode::kNotFound, "part of the text")).
MATCHER_P2(HasError, code, text,
           "is an error " + std::string(ToString(code)) + " saying " + std::string(text)) {
  const arrow::Status status = ToStatus(arg);
  *result_listener << status.ToString();
  return !status.ok() && CodeOf(status) == code && status.message().find(text) != std::string::npos;
}

}  // namespace kelda

#define KELDA_TEST_CONCAT_(a, b) a##b
#define KELDA_TEST_CONCAT(a, b) KELDA_TEST_CONCAT_(a, b)

#define ASSERT_OK(...) ASSERT_TRUE(::kelda::IsOk(::kelda::ToStatus((__VA_ARGS__))))
#define EXPECT_OK(...) EXPECT_TRUE(::kelda::IsOk(::kelda::ToStatus((__VA_ARGS__))))

#define KELDA_ASSERT_OK_AND_ASSIGN_(result, lhs, ...)     \
  auto&& result = (__VA_ARGS__);                          \
  ASSERT_TRUE(result.ok()) << result.status().ToString(); \
  lhs = std::move(result).ValueUnsafe()
/// ASSERT_OK_AND_ASSIGN(auto file, file_io->OpenInput(path));
#define ASSERT_OK_AND_ASSIGN(lhs, ...) \
  KELDA_ASSERT_OK_AND_ASSIGN_(KELDA_TEST_CONCAT(kelda_result_, __LINE__), lhs, __VA_ARGS__)
