#include "kelda/catalog/system_tables/texts.h"

#include <fmt/format.h>

#include "kelda/base/clock.h"
#include "kelda/row/partition_path.h"

namespace kelda::system_tables {

int64_t LocalWallMillis(int64_t utc_millis) {
  int64_t wall = 0;
  if (__builtin_add_overflow(utc_millis, LocalZoneOffsetMillis(utc_millis), &wall))
    return utc_millis;
  return wall;
}

arrow::Result<std::string> InternalText(const DataType& type, const arrow::Scalar& value) {
  if (!value.is_valid) return "null";
  switch (type.root()) {
    case TypeRoot::kDate:
    case TypeRoot::kTime:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: {
      // The old form of partition names is the same toString (spec 01 §1.6); none of these is
      // blank.
      PartitionPathOptions options;
      options.legacy_name = true;
      return PartitionValueText(type, value, options);
    }
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: {
      std::string hex;
      for (const char c : static_cast<const arrow::BaseBinaryScalar&>(value).view())
        hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
      return hex;
    }
    default:
      return CastToText(type, value);
  }
}

arrow::Result<std::string> RowText(const std::vector<DataType>& types,
                                   const std::vector<std::shared_ptr<arrow::Scalar>>& values) {
  std::string text = "{";
  for (size_t i = 0; i < values.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(std::string value, CastToText(types[i], *values[i]));
    text += (i == 0 ? "" : ", ") + value;
  }
  return text + "}";
}

std::string SqlText(const DataType& type) {
  std::string text;
  switch (type.root()) {
    case TypeRoot::kArray:
      text = fmt::format("ARRAY<{}>", SqlText(type.element()));
      break;
    case TypeRoot::kMultiset:
      text = fmt::format("MULTISET<{}>", SqlText(type.element()));
      break;
    case TypeRoot::kMap:
      text = fmt::format("MAP<{}, {}>", SqlText(type.key()), SqlText(type.value()));
      break;
    case TypeRoot::kRow:
      for (const DataField& member : type.fields()) {
        text += text.empty() ? "ROW<`" : ", `";
        for (const char c : member.name) text += c == '`' ? "``" : std::string(1, c);
        text += "` " + SqlText(member.type);
      }
      text += text.empty() ? "ROW<>" : ">";
      break;
    default:
      return type.ToString();
  }
  return type.nullable() ? text : text + " NOT NULL";
}

std::string CompactJson(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace kelda::system_tables
