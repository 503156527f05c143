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

std::string DurationText(int64_t seconds, int32_t nanos) {
  if (seconds == 0 && nanos == 0) return "PT0S";
  // Java keeps nanoseconds positive: -0.5 s is (-1 s, 500,000,000 ns) and prints PT-0.5S.
  const bool borrows = seconds < 0 && nanos > 0;
  const int64_t whole = borrows ? seconds + 1 : seconds;
  std::string text = "PT";
  if (whole / 3600 != 0) text += fmt::format("{}H", whole / 3600);
  if (whole / 60 % 60 != 0) text += fmt::format("{}M", whole / 60 % 60);
  const int64_t rest = whole % 60;
  if (rest == 0 && nanos == 0) return text;
  text += borrows && rest == 0 ? "-0" : std::to_string(rest);
  if (nanos > 0) {
    std::string fraction = fmt::format("{:09}", borrows ? 1000000000 - nanos : nanos);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text + "S";
}

std::string CompactJson(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace kelda::system_tables
