#include "kelda/sql/parser/table_name_suffix.h"

#include <nlohmann/json.hpp>

#include "kelda/sql/parser/lexer.h"

namespace kelda::sql {
namespace {

constexpr std::string_view kOptions = "$options";
constexpr std::string_view kOverwrite = "$overwrite";
constexpr std::string_view kInsert = "$insert";

struct Suffix {
  size_t begin;
  std::string_view kind;
};

std::optional<Suffix> FindSuffix(std::string_view name) {
  std::optional<Suffix> first;
  for (std::string_view kind : {kOptions, kOverwrite, kInsert}) {
    for (size_t pos = name.find(kind); pos != std::string_view::npos;
         pos = name.find(kind, pos + 1)) {
      if (name.substr(pos + kind.size(), 1) != "{") continue;
      if (!first || pos < first->begin) first = Suffix{pos, kind};
      break;
    }
  }
  return first;
}

/// Length of the JSON object that `text` starts with, 0 if it does not end.
size_t ObjectLength(std::string_view text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

std::string EncodeInsert(const InsertTarget& insert) {
  std::string out(insert.overwrite ? kOverwrite : kInsert);
  out += '{';
  if (!insert.static_partition.empty()) {
    out += "\"partition\":{";
    for (const auto& [column, value] : insert.static_partition) {
      if (out.back() != '{') out += ',';
      out += QuoteJson(column) + ":" + (value ? QuoteJson(*value) : "null");
    }
    out += '}';
  }
  if (!insert.dynamic_partition.empty()) {
    if (out.back() != '{') out += ',';
    out += "\"dynamic\":[";
    for (const std::string& column : insert.dynamic_partition) {
      if (out.back() != '[') out += ',';
      out += QuoteJson(column);
    }
    out += ']';
  }
  if (insert.static_columns_last) {
    if (out.back() != '{') out += ',';
    out += "\"staticColumnsLast\":true";
  }
  return out += '}';
}

bool DecodeOptions(const nlohmann::ordered_json& json, DecoratedTableName* out) {
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return false;
    out->options.emplace_back(key, value.get<std::string>());
  }
  return true;
}

bool DecodeInsert(const nlohmann::ordered_json& json, bool overwrite, DecoratedTableName* out) {
  if (out->insert) return false;
  InsertTarget& insert = out->insert.emplace();
  insert.overwrite = overwrite;
  for (const auto& [key, value] : json.items()) {
    if (key == "partition" && value.is_object()) {
      for (const auto& [column, constant] : value.items()) {
        if (!constant.is_null() && !constant.is_string()) return false;
        std::optional<std::string> text;
        if (constant.is_string()) text = constant.get<std::string>();
        insert.static_partition.emplace_back(column, std::move(text));
      }
    } else if (key == "dynamic" && value.is_array()) {
      for (const auto& column : value) {
        if (!column.is_string()) return false;
        insert.dynamic_partition.push_back(column.get<std::string>());
      }
    } else if (key == "staticColumnsLast" && value.is_boolean()) {
      insert.static_columns_last = value.get<bool>();
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string EncodeTableName(const DecoratedTableName& name) {
  std::string out = name.name;
  if (!name.options.empty()) {
    out += kOptions;
    out += '{';
    for (const auto& [key, value] : name.options) {
      if (out.back() != '{') out += ',';
      out += QuoteJson(key) + ":" + QuoteJson(value);
    }
    out += '}';
  }
  if (name.insert) out += EncodeInsert(*name.insert);
  return out;
}

bool IsDecoratedTableName(std::string_view name) {
  return !name.empty() && name.back() == '}' && FindSuffix(name).has_value();
}

std::optional<DecoratedTableName> DecodeTableName(std::string_view name) {
  DecoratedTableName out;
  if (!IsDecoratedTableName(name)) {
    out.name = std::string(name);
    return out;
  }
  out.name = std::string(name.substr(0, FindSuffix(name)->begin));
  name.remove_prefix(out.name.size());
  while (!name.empty()) {
    std::optional<Suffix> suffix = FindSuffix(name);
    if (!suffix || suffix->begin != 0) return std::nullopt;
    name.remove_prefix(suffix->kind.size());
    size_t length = ObjectLength(name);
    auto json =
        nlohmann::ordered_json::parse(name.substr(0, length), nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return std::nullopt;
    bool ok = suffix->kind == kOptions ? DecodeOptions(json, &out)
                                       : DecodeInsert(json, suffix->kind == kOverwrite, &out);
    if (!ok) return std::nullopt;
    name.remove_prefix(length);
  }
  return out;
}

}  // namespace kelda::sql
