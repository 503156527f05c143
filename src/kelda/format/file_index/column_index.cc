#include "kelda/format/file_index/column_index.h"

#include "kelda/format/file_index/index_options.h"
#include "kelda/options/option_value.h"

namespace kelda {

const std::vector<const ColumnIndexType*>& ColumnIndexTypes() {
  static const std::vector<const ColumnIndexType*> types = {&BloomFilterIndex(), &BitmapIndex(),
                                                            &RangeBitmapIndex(), &BitSliceIndex()};
  return types;
}

const ColumnIndexType* FindColumnIndexType(std::string_view name) {
  for (const ColumnIndexType* type : ColumnIndexTypes()) {
    if (type->name() == name) return type;
  }
  return nullptr;
}

arrow::Result<int64_t> IntegerOption(const IndexOptions& options, const std::string& name,
                                     int64_t default_value, int64_t min, int64_t max) {
  auto it = options.find(name);
  if (it == options.end()) return default_value;
  auto value = ParseOptionInteger(it->second, min, max);
  if (!value.ok()) return OptionValueError(name, it->second, value.status());
  return *value;
}

arrow::Result<double> DoubleOption(const IndexOptions& options, const std::string& name,
                                   double default_value) {
  auto it = options.find(name);
  if (it == options.end()) return default_value;
  auto value = ParseOptionDouble(it->second);
  if (!value.ok()) return OptionValueError(name, it->second, value.status());
  return *value;
}

arrow::Result<int64_t> SizeOption(const IndexOptions& options, const std::string& name,
                                  int64_t default_value) {
  auto it = options.find(name);
  if (it == options.end()) return default_value;
  auto value = ParseOptionSize(it->second);
  if (!value.ok()) return OptionValueError(name, it->second, value.status());
  return *value;
}

}  // namespace kelda
