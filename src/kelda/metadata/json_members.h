#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "kelda/base/status.h"

namespace kelda {

/// Typed access to the members of a JSON object that comes from outside, and the memory of which
/// were asked for: the others are unknown to this version. Borrows all its arguments; `kind` is
/// what errors call the file ("snapshot").
class JsonMembers {
 public:
  JsonMembers(const nlohmann::ordered_json& json, std::string_view kind, std::string_view source)
      : json_(json), kind_(kind), source_(source) {}

  /// Null for a member that is missing or null.
  const nlohmann::ordered_json* Find(const char* key);
  /// An integer, or text that is one: old releases wrote some numbers as text (spec 01 §3).
  arrow::Result<std::optional<int64_t>> OptionalInt(const char* key);
  arrow::Result<int64_t> Int(const char* key, std::optional<int64_t> fallback = std::nullopt);
  arrow::Result<std::optional<std::string>> OptionalText(const char* key);
  arrow::Result<std::string> Text(const char* key);

  arrow::Status Bad(const char* key) const;
  arrow::Status Missing(const char* key) const;
  /// The members that nobody asked for, in their order.
  nlohmann::ordered_json Unknown() const;

 private:
  const nlohmann::ordered_json& json_;
  std::string_view kind_;
  std::string_view source_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace kelda
