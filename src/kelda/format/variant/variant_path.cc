#include "kelda/format/variant/variant_path.h"

#include <charconv>
#include <limits>

namespace kelda {

arrow::Result<VariantPath> VariantPath::Parse(std::string_view text) {
  const auto bad = [&] {
    return Invalid("'{}' is no path into a VARIANT ($, .key, ['key'], [index])", text);
  };
  VariantPath path;
  if (!text.starts_with('$')) return bad();
  for (std::string_view rest = text.substr(1); !rest.empty();) {
    Step step;
    size_t end;
    if (rest[0] == '.') {
      end = rest.find_first_of(".[", 1);
      end = end == std::string_view::npos ? rest.size() : end;
      step.key = rest.substr(1, end - 1);
    } else if (rest.size() > 1 && rest[0] == '[' && (rest[1] == '\'' || rest[1] == '"')) {
      const size_t close = rest.find(rest[1], 2);
      if (close == std::string_view::npos || rest.substr(close + 1, 1) != "]") return bad();
      step.key = rest.substr(2, close - 2);
      end = close + 2;
    } else {
      end = rest.find(']');
      if (rest[0] != '[' || end == std::string_view::npos) return bad();
      const std::string_view digits = rest.substr(1, end - 1);
      int32_t index = 0;
      const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
      if (digits.empty() || digits[0] == '-' || parsed.ec != std::errc() ||
          parsed.ptr != digits.data() + digits.size()) {
        return bad();
      }
      step.index = index;
      ++end;
    }
    if (step.index < 0 && step.key.empty()) return bad();
    path.steps_.push_back(std::move(step));
    rest.remove_prefix(end);
  }
  return path;
}

arrow::Result<std::optional<VariantValue>> VariantPath::Get(const VariantBytes& variant) const {
  ARROW_ASSIGN_OR_RAISE(const VariantKeys keys, VariantKeys::Make(variant.metadata));
  ARROW_ASSIGN_OR_RAISE(VariantValue value, VariantValue::Parse(variant.value));
  for (const Step& step : steps_) {
    if (step.index >= 0) {
      if (value.kind() != VariantKind::kArray || step.index >= value.count()) return std::nullopt;
      ARROW_ASSIGN_OR_RAISE(value, value.Element(step.index));
      continue;
    }
    if (value.kind() != VariantKind::kObject) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(auto field, value.Field(step.key, keys));
    if (!field) return std::nullopt;
    value = *field;
  }
  return value;
}

}  // namespace kelda
