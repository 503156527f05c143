#include "kelda/row/row_test_values.h"

#include <cstdio>
#include <fstream>
#include <limits>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "kelda/base/bytes.h"
#include "kelda/row/civil_date.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
T FloatFromJson(const Json& json) {
  if (json.is_number()) return static_cast<T>(json.get<double>());
  const auto text = json.get<std::string>();
  if (text == "NaN") return std::numeric_limits<T>::quiet_NaN();
  return text[0] == '-' ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
}

int64_t DaysOf(const std::string& text, int* consumed) {
  long long year = 0;
  int month = 0;
  int day = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "%lld-%d-%d%n", &year, &month, &day, consumed), 3) << text;
  return DaysFromCivil({year, month, day});
}

int64_t TimestampTicks(const std::string& text, arrow::TimeUnit::type unit) {
  int consumed = 0;
  const int64_t days = DaysOf(text, &consumed);
  int hour = 0;
  int minute = 0;
  int second = 0;
  int more = 0;
  const char* rest = text.c_str() + consumed;
  EXPECT_EQ(std::sscanf(rest, "T%d:%d:%d%n", &hour, &minute, &second, &more), 3) << text;
  std::string fraction;
  rest += more;
  if (*rest == '.') {
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest) fraction += *rest;
  }
  fraction.resize(9, '0');
  const int64_t seconds = days * 86400 + hour * 3600 + minute * 60 + second;
  const int64_t nanos = std::stoll(fraction);
  int64_t per_second = 1;
  for (int i = 0; i < static_cast<int>(unit); ++i) per_second *= 1000;
  return seconds * per_second + nanos / (1000000000 / per_second);
}

int32_t TimeMillis(const std::string& text) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  int millis = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "%d:%d:%d.%d", &hour, &minute, &second, &millis), 4) << text;
  return hour * 3600000 + minute * 60000 + second * 1000 + millis;
}

arrow::Status AppendJson(const DataType& type, const Json& json, arrow::ArrayBuilder* builder);

arrow::Status AppendNested(const DataType& type, const Json& json, arrow::ArrayBuilder* builder) {
  switch (type.root()) {
    case TypeRoot::kArray: {
      auto* list = static_cast<arrow::ListBuilder*>(builder);
      ARROW_RETURN_NOT_OK(list->Append());
      for (const Json& item : json)
        ARROW_RETURN_NOT_OK(AppendJson(type.element(), item, list->value_builder()));
      return arrow::Status::OK();
    }
    case TypeRoot::kMap:
    case TypeRoot::kMultiset: {
      const bool is_map = type.root() == TypeRoot::kMap;
      auto* map = static_cast<arrow::MapBuilder*>(builder);
      ARROW_RETURN_NOT_OK(map->Append());
      for (const Json& pair : json) {
        ARROW_RETURN_NOT_OK(
            AppendJson(is_map ? type.key() : type.element(), pair[0], map->key_builder()));
        ARROW_RETURN_NOT_OK(AppendJson(is_map ? type.value() : DataType(TypeRoot::kInt), pair[1],
                                       map->item_builder()));
      }
      return arrow::Status::OK();
    }
    case TypeRoot::kRow: {
      auto* row = static_cast<arrow::StructBuilder*>(builder);
      ARROW_RETURN_NOT_OK(row->Append());
      for (size_t i = 0; i < type.fields().size(); ++i) {
        const DataField& field = type.fields()[i];
        ARROW_RETURN_NOT_OK(
            AppendJson(field.type, json.at(field.name), row->field_builder(static_cast<int>(i))));
      }
      return arrow::Status::OK();
    }
    default:
      return Invalid("no JSON form of {}", type.ToString());
  }
}

arrow::Status AppendJson(const DataType& type, const Json& json, arrow::ArrayBuilder* builder) {
  if (json.is_null()) return builder->AppendNull();
  switch (type.root()) {
    case TypeRoot::kBoolean:
      return static_cast<arrow::BooleanBuilder*>(builder)->Append(json.get<bool>());
    case TypeRoot::kTinyInt:
      return static_cast<arrow::Int8Builder*>(builder)->Append(json.get<int8_t>());
    case TypeRoot::kSmallInt:
      return static_cast<arrow::Int16Builder*>(builder)->Append(json.get<int16_t>());
    case TypeRoot::kInt:
      return static_cast<arrow::Int32Builder*>(builder)->Append(json.get<int32_t>());
    case TypeRoot::kBigInt:
      return static_cast<arrow::Int64Builder*>(builder)->Append(json.get<int64_t>());
    case TypeRoot::kFloat:
      return static_cast<arrow::FloatBuilder*>(builder)->Append(FloatFromJson<float>(json));
    case TypeRoot::kDouble:
      return static_cast<arrow::DoubleBuilder*>(builder)->Append(FloatFromJson<double>(json));
    case TypeRoot::kDecimal: {
      arrow::Decimal128 value;
      int32_t precision = 0;
      int32_t scale = 0;
      ARROW_RETURN_NOT_OK(
          arrow::Decimal128::FromString(json.get<std::string>(), &value, &precision, &scale));
      EXPECT_EQ(scale, type.scale());
      return static_cast<arrow::Decimal128Builder*>(builder)->Append(value);
    }
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
      return static_cast<arrow::StringBuilder*>(builder)->Append(json.get<std::string>());
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: {
      ARROW_ASSIGN_OR_RAISE(std::string bytes, FromHex(json.get<std::string>()));
      return static_cast<arrow::BinaryBuilder*>(builder)->Append(bytes);
    }
    case TypeRoot::kDate: {
      int consumed = 0;
      return static_cast<arrow::Date32Builder*>(builder)->Append(
          static_cast<int32_t>(DaysOf(json.get<std::string>(), &consumed)));
    }
    case TypeRoot::kTime:
      return static_cast<arrow::Time32Builder*>(builder)->Append(
          TimeMillis(json.get<std::string>()));
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: {
      const auto unit = static_cast<const arrow::TimestampType&>(*builder->type()).unit();
      return static_cast<arrow::TimestampBuilder*>(builder)->Append(
          TimestampTicks(json.get<std::string>(), unit));
    }
    default:
      return AppendNested(type, json, builder);
  }
}

}  // namespace

std::vector<Json> ReadJsonLines(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::shared_ptr<arrow::Scalar> ScalarFromJson(const DataType& type, const Json& json) {
  auto builder = arrow::MakeBuilder(ToArrowType(type).ValueOrDie()).ValueOrDie();
  const arrow::Status status = AppendJson(type, json, builder.get());
  EXPECT_TRUE(status.ok()) << status << " " << json.dump();
  if (!status.ok()) return arrow::MakeNullScalar(builder->type());
  return builder->Finish().ValueOrDie()->GetScalar(0).ValueOrDie();
}

}  // namespace kelda
