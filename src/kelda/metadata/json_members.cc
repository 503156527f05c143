#include "kelda/metadata/json_members.h"

#include <charconv>

namespace kelda {

const nlohmann::ordered_json* JsonMembers::Find(const char* key) {
  seen_.insert(key);
  auto it = json_.find(key);
  return it == json_.end() || it->is_null() ? nullptr : &*it;
}

arrow::Result<std::optional<int64_t>> JsonMembers::OptionalInt(const char* key) {
  const auto* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_integer()) {
    if (value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX) return Bad(key);
    return value->get<int64_t>();
  }
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    int64_t parsed = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (error == std::errc() && end == text.data() + text.size()) return parsed;
  }
  return Bad(key);
}

arrow::Result<int64_t> JsonMembers::Int(const char* key, std::optional<int64_t> fallback) {
  ARROW_ASSIGN_OR_RAISE(auto value, OptionalInt(key));
  if (value) return *value;
  if (fallback) return *fallback;
  return Missing(key);
}

arrow::Result<std::optional<std::string>> JsonMembers::OptionalText(const char* key) {
  const auto* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) return Bad(key);
  return value->get<std::string>();
}

arrow::Result<std::string> JsonMembers::Text(const char* key) {
  ARROW_ASSIGN_OR_RAISE(auto value, OptionalText(key));
  if (!value) return Missing(key);
  return *value;
}

arrow::Status JsonMembers::Bad(const char* key) const {
  return Corruption("corrupt {} file '{}': member '{}' has a value of the wrong type", kind_,
                    source_, key);
}

arrow::Status JsonMembers::Missing(const char* key) const {
  return Corruption("corrupt {} file '{}': member '{}' is missing", kind_, source_, key);
}

nlohmann::ordered_json JsonMembers::Unknown() const {
  auto unknown = nlohmann::ordered_json::object();
  for (const auto& [key, value] : json_.items()) {
    if (!seen_.contains(key)) unknown[key] = value;
  }
  return unknown;
}

}  // namespace kelda
