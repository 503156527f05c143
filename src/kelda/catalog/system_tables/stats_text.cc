#include "kelda/catalog/system_tables/stats_text.h"

#include <algorithm>
#include <optional>

#include "kelda/catalog/system_tables/texts.h"
#include "kelda/row/binary_row.h"
#include "kelda/row/partition_path.h"

namespace kelda::system_tables {

namespace {

constexpr size_t kLayoutsMax = 10000;

/// Width of an integer type in a chain in which widening keeps the text; 0 for other types.
int IntegerWidth(const DataType& type) {
  switch (type.root()) {
    case TypeRoot::kTinyInt:
      return 1;
    case TypeRoot::kSmallInt:
      return 2;
    case TypeRoot::kInt:
      return 4;
    case TypeRoot::kBigInt:
      return 8;
    default:
      return 0;
  }
}

/// Text of `value`, of type `from` in the file, as the column of type `to` would show it; nothing
/// where that needs a cast that may change the value.
arrow::Result<std::optional<std::string>> ConvertedText(const DataType& from, const DataType& to,
                                                        const arrow::Scalar& value) {
  if (!value.is_valid) return std::nullopt;
  bool same_text = from.EqualsIgnoringNullability(to);
  if (const int width = IntegerWidth(from); width > 0)
    same_text = same_text || width <= IntegerWidth(to);
  if (from.root() == to.root() &&
      (from.root() == TypeRoot::kTimestamp || from.root() == TypeRoot::kTimestampLtz)) {
    same_text = same_text || from.precision() <= to.precision();
  }
  const bool to_string = to.root() == TypeRoot::kVarChar && to.length() == DataType::kLengthMax;
  if (from.IsString() && to_string) same_text = true;
  if (same_text) {
    ARROW_ASSIGN_OR_RAISE(std::string text, InternalText(from, value));
    return text;
  }
  if (to_string && !from.IsBytes()) {
    ARROW_ASSIGN_OR_RAISE(std::string text, CastToText(from, value));
    return text;
  }
  if (from.root() == TypeRoot::kFloat && to.root() == TypeRoot::kDouble) {
    return JavaDoubleText(static_cast<const arrow::FloatScalar&>(value).value);
  }
  return std::nullopt;
}

}  // namespace

StatsTexts::StatsTexts(const TableContext& table) : table_(table), fields_(table.fields()) {
  std::sort(fields_.begin(), fields_.end(),
            [](const DataField& a, const DataField& b) { return a.name < b.name; });
}

arrow::Result<std::shared_ptr<const StatsTexts::Layout>> StatsTexts::MakeLayout(
    const DataFileMeta& file) const {
  TableSchemaPtr schema = table_.schema;
  if (file.schema_id != schema->id) {
    ARROW_ASSIGN_OR_RAISE(schema, table_.schemas->Read(file.schema_id));
  }
  std::vector<std::string> covered;
  if (file.value_stats_cols) {
    covered = *file.value_stats_cols;
  } else if (file.write_cols) {
    covered = *file.write_cols;
  } else {
    for (const DataField& field : schema->fields) covered.push_back(field.name);
  }
  auto layout = std::make_shared<Layout>();
  std::map<int32_t, int> place_of_id;
  for (const std::string& name : covered) {
    const int index = schema->FieldIndex(name);
    if (index < 0) {
      // Row tracking's own columns are written, and counted, like any other.
      if (name != "_ROW_ID" && name != "_SEQUENCE_NUMBER") {
        return Corruption(
            "data file '{}': statistics of column '{}', which schema {} does not have",
            file.file_name, name, file.schema_id);
      }
      layout->types.emplace_back(TypeRoot::kBigInt);
      continue;
    }
    place_of_id[schema->fields[index].id] = static_cast<int>(layout->types.size());
    layout->types.push_back(schema->fields[index].type.WithNullable(true));
  }
  for (const DataField& field : fields_) {
    const auto place = place_of_id.find(field.id);
    const bool in_file = std::any_of(schema->fields.begin(), schema->fields.end(),
                                     [&](const DataField& other) { return other.id == field.id; });
    layout->places.push_back(place != place_of_id.end() ? place->second
                             : in_file                  ? Layout::kUnknown
                                                        : Layout::kMissing);
  }
  return layout;
}

arrow::Result<std::shared_ptr<const StatsTexts::Layout>> StatsTexts::LayoutOf(
    const DataFileMeta& file) const {
  // A name may hold any byte, so each is preceded by its length.
  std::string key = std::to_string(file.schema_id);
  const auto& names = file.value_stats_cols ? file.value_stats_cols : file.write_cols;
  if (names) {
    for (const std::string& name : *names) key += fmt::format("/{}:{}", name.size(), name);
    key += '.';
  }
  {
    std::lock_guard lock(mutex_);
    auto it = layouts_.find(key);
    if (it != layouts_.end()) return it->second;
  }
  ARROW_ASSIGN_OR_RAISE(auto layout, MakeLayout(file));
  std::lock_guard lock(mutex_);
  if (layouts_.size() < kLayoutsMax) layouts_.emplace(std::move(key), layout);
  return layout;
}

arrow::Result<std::string> StatsTexts::NullCounts(const DataFileMeta& file) const {
  ARROW_ASSIGN_OR_RAISE(auto layout, LayoutOf(file));
  const auto& counts = file.value_stats.null_counts;
  const bool known = counts.size() == layout->types.size();
  std::string text = "{";
  for (size_t i = 0; i < fields_.size(); ++i) {
    const int place = layout->places[i];
    std::optional<int64_t> count;
    if (place == Layout::kMissing) {
      count = file.row_count;
    } else if (place >= 0 && known) {
      count = counts[place];
    }
    text += fmt::format("{}{}={}", i == 0 ? "" : ", ", fields_[i].name,
                        count ? std::to_string(*count) : "null");
  }
  return text + "}";
}

arrow::Result<std::string> StatsTexts::Bounds(const DataFileMeta& file,
                                              const std::string& serialized) const {
  ARROW_ASSIGN_OR_RAISE(auto layout, LayoutOf(file));
  ARROW_ASSIGN_OR_RAISE(SerializedRow row, ParseSerializedRow(serialized, file.file_name));
  std::vector<std::shared_ptr<arrow::Scalar>> values;
  // Another arity is that of statistics which are off or were dropped: nothing is known.
  if (row.arity == static_cast<int32_t>(layout->types.size())) {
    ARROW_ASSIGN_OR_RAISE(values, DecodeBinaryRow(layout->types, row.row, file.file_name));
  }
  std::string text = "{";
  for (size_t i = 0; i < fields_.size(); ++i) {
    const int place = layout->places[i];
    std::optional<std::string> value;
    if (place >= 0 && !values.empty()) {
      ARROW_ASSIGN_OR_RAISE(value,
                            ConvertedText(layout->types[place], fields_[i].type, *values[place]));
    }
    text += fmt::format("{}{}={}", i == 0 ? "" : ", ", fields_[i].name, value.value_or("null"));
  }
  return text + "}";
}

arrow::Result<std::string> StatsTexts::MinValues(const DataFileMeta& file) const {
  return Bounds(file, file.value_stats.min_values);
}

arrow::Result<std::string> StatsTexts::MaxValues(const DataFileMeta& file) const {
  return Bounds(file, file.value_stats.max_values);
}

}  // namespace kelda::system_tables
