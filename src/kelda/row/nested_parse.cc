// Casts from STRING to ARRAY, MAP and ROW, which defaults use (spec 01 §2.8).
#include <arrow/api.h>

#include "kelda/row/partition_path.h"
#include "kelda/row/text_values.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

/// What stands between `open` and `close`.
std::optional<std::string_view> Between(std::string_view text, char open, char close) {
  if (text.size() < 2 || text.front() != open || text.back() != close) return std::nullopt;
  return text.substr(1, text.size() - 2);
}

/// `NAME ( ... )`, the name in any case.
std::optional<std::string_view> Arguments(std::string_view text, std::string_view name) {
  if (text.size() < name.size()) return std::nullopt;
  for (size_t i = 0; i < name.size(); ++i) {
    if ((text[i] & ~0x20) != name[i]) return std::nullopt;
  }
  return Between(Trim(text.substr(name.size())), '(', ')');
}

/// Parts between the commas that stand in no bracket and no double quotes, blanks around them
/// trimmed, empty ones left out.
std::vector<std::string_view> Parts(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (quoted && c == '\\' && i + 1 < text.size()) {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (quoted && i < text.size()) {
      continue;
    } else if (c == '[' || c == '{' || c == '(') {
      ++depth;
    } else if (c == ']' || c == '}' || c == ')') {
      --depth;
    } else if (c == ',' && (depth == 0 || i == text.size())) {
      const std::string_view part = Trim(text.substr(begin, i - begin));
      if (!part.empty()) parts.push_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

arrow::Status AppendText(const DataType& type, std::string_view text,
                         arrow::ArrayBuilder* builder) {
  if (text == "null") return builder->AppendNull();
  ARROW_ASSIGN_OR_RAISE(auto value, CastFromText(type, text));
  return builder->AppendScalar(*value);
}

arrow::Result<std::shared_ptr<arrow::Array>> ArrayOf(const DataType& type,
                                                     const std::vector<std::string_view>& texts) {
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
  ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(arrow_type));
  for (const std::string_view text : texts)
    ARROW_RETURN_NOT_OK(AppendText(type, text, builder.get()));
  return builder->Finish();
}

/// The value at the end of building one row.
arrow::Result<std::shared_ptr<arrow::Scalar>> OnlyValue(arrow::ArrayBuilder* builder) {
  ARROW_ASSIGN_OR_RAISE(auto array, builder->Finish());
  return array->GetScalar(0);
}

arrow::Result<std::shared_ptr<arrow::Scalar>> ParseArray(const DataType& type,
                                                         std::string_view text) {
  auto content = Between(text, '[', ']');
  if (!content) content = Arguments(text, "ARRAY");
  if (!content) return BadText(type, text);
  ARROW_ASSIGN_OR_RAISE(auto values, ArrayOf(type.element(), Parts(*content)));
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
  return std::make_shared<arrow::ListScalar>(values, arrow_type);
}

/// Keys and values in turn; of equal keys the last counts.
arrow::Result<std::vector<std::pair<std::string_view, std::string_view>>> Entries(
    const DataType& type, std::string_view text) {
  std::vector<std::pair<std::string_view, std::string_view>> entries;
  if (const auto content = Between(text, '{', '}')) {
    for (const std::string_view part : Parts(*content)) {
      const size_t arrow = part.find("->");
      if (arrow == std::string_view::npos) return BadText(type, text);
      const std::string_view key = Trim(part.substr(0, arrow));
      const std::string_view value = Trim(part.substr(arrow + 2));
      if (key.empty() || value.empty()) return BadText(type, text);
      entries.emplace_back(key, value);
    }
    return entries;
  }
  const auto content = Arguments(text, "MAP");
  if (!content) return BadText(type, text);
  std::vector<std::string_view> parts = Parts(*content);
  if (parts.size() % 2 != 0) return BadText(type, text);
  for (std::string_view& part : parts) part = Between(part, '"', '"').value_or(part);
  for (size_t i = 0; i < parts.size(); i += 2) entries.emplace_back(parts[i], parts[i + 1]);
  return entries;
}

arrow::Result<std::shared_ptr<arrow::Scalar>> ParseMap(const DataType& type,
                                                       std::string_view text) {
  ARROW_ASSIGN_OR_RAISE(auto entries, Entries(type, text));
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
  ARROW_ASSIGN_OR_RAISE(auto any, arrow::MakeBuilder(arrow_type));
  auto* builder = static_cast<arrow::MapBuilder*>(any.get());
  ARROW_RETURN_NOT_OK(builder->Append());
  for (size_t i = 0; i < entries.size(); ++i) {
    bool replaced = false;
    for (size_t j = i + 1; j < entries.size(); ++j)
      replaced |= entries[j].first == entries[i].first;
    if (replaced) continue;
    // Keys of an Arrow MAP are never NULL.
    if (entries[i].first == "null") return BadText(type, text);
    ARROW_RETURN_NOT_OK(AppendText(type.key(), entries[i].first, builder->key_builder()));
    ARROW_RETURN_NOT_OK(AppendText(type.value(), entries[i].second, builder->item_builder()));
  }
  return OnlyValue(builder);
}

arrow::Result<std::shared_ptr<arrow::Scalar>> ParseRow(const DataType& type,
                                                       std::string_view text) {
  auto content = Between(text, '{', '}');
  if (!content) content = Arguments(text, "STRUCT");
  if (!content) return BadText(type, text);
  std::vector<std::string_view> parts = Parts(*content);
  // Nothing at all: every member is NULL.
  if (Trim(*content).empty()) parts.assign(type.fields().size(), "null");
  if (parts.size() != type.fields().size()) return BadText(type, text);
  ARROW_ASSIGN_OR_RAISE(auto arrow_type, ToArrowType(type));
  ARROW_ASSIGN_OR_RAISE(auto any, arrow::MakeBuilder(arrow_type));
  auto* builder = static_cast<arrow::StructBuilder*>(any.get());
  ARROW_RETURN_NOT_OK(builder->Append());
  for (size_t i = 0; i < parts.size(); ++i) {
    ARROW_RETURN_NOT_OK(
        AppendText(type.fields()[i].type, parts[i], builder->field_builder(static_cast<int>(i))));
  }
  return OnlyValue(builder);
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Scalar>> NestedOf(const DataType& type,
                                                       std::string_view text) {
  const std::string_view trimmed = Trim(text);
  switch (type.root()) {
    case TypeRoot::kArray:
      return ParseArray(type, trimmed);
    case TypeRoot::kMap:
      return ParseMap(type, trimmed);
    case TypeRoot::kRow:
      return ParseRow(type, trimmed);
    default:
      return Unsupported("cast of a text to {}", type.ToString());
  }
}

}  // namespace kelda
