#include "kelda/format/variant/variant_json.h"

#include <cmath>

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/type.h>
#include <arrow/util/base64.h>
#include <arrow/util/utf8.h>

#include "kelda/row/civil_date.h"
#include "kelda/row/partition_path.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

constexpr size_t kJsonSizeMaxBytes = size_t{1} << 30;
constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kSecondsPerDay = 86'400;

/// Bytes that are no UTF-8 come out as U+FFFD, one for each.
void AppendText(std::string_view text, std::string* json) {
  arrow::util::InitializeUTF8();
  if (arrow::util::ValidateUTF8(reinterpret_cast<const uint8_t*>(text.data()),
                                static_cast<int64_t>(text.size()))) {
    *json += text;
    return;
  }
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    length = std::min(length, text.size() - i);
    const std::string_view piece = text.substr(i, length);
    if (arrow::util::ValidateUTF8(reinterpret_cast<const uint8_t*>(piece.data()),
                                  static_cast<int64_t>(length))) {
      *json += piece;
      i += length;
    } else {
      *json += "\xef\xbf\xbd";
      ++i;
    }
  }
}

void AppendQuoted(std::string_view text, std::string* json) {
  *json += '"';
  size_t plain = 0;
  const auto flush = [&](size_t end) { AppendText(text.substr(plain, end - plain), json); };
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    flush(i);
    plain = i + 1;
    static constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
    static constexpr std::string_view kLetters = "\"\\bfnrt";
    if (const size_t at = kEscaped.find(static_cast<char>(c)); at != std::string_view::npos) {
      *json += '\\';
      *json += kLetters[at];
    } else {
      *json += fmt::format("\\u{:04X}", c);
    }
  }
  flush(text.size());
  *json += '"';
}

/// Years of other than four digits have a sign, as ISO 8601 wants it.
std::string IsoDate(int64_t days) {
  const CivilDate date = CivilFromDays(days);
  const std::string year = date.year > 9999 ? fmt::format("+{}", date.year)
                           : date.year < 0  ? fmt::format("-{:04}", -date.year)
                                            : fmt::format("{:04}", date.year);
  return fmt::format("{}-{:02}-{:02}", year, date.month, date.day);
}

std::string IsoTimestamp(int64_t micros) {
  int64_t seconds = micros / kMicrosPerSecond;
  int64_t fraction = micros % kMicrosPerSecond;
  if (fraction < 0) {
    fraction += kMicrosPerSecond;
    --seconds;
  }
  int64_t days = seconds / kSecondsPerDay;
  int64_t of_day = seconds % kSecondsPerDay;
  if (of_day < 0) {
    of_day += kSecondsPerDay;
    --days;
  }
  std::string text = fmt::format("{} {:02}:{:02}:{:02}", IsoDate(days), of_day / 3600,
                                 of_day / 60 % 60, of_day % 60);
  if (fraction == 0) return text;
  text += fmt::format(".{:06}", fraction);
  text.resize(text.find_last_not_of('0') + 1);
  return text;
}

/// Without zeros at the end of the fraction.
std::string PlainDecimal(__int128 unscaled, int scale) {
  while (scale > 0 && unscaled % 10 == 0) {
    unscaled /= 10;
    --scale;
  }
  auto rest = unscaled < 0 ? -static_cast<unsigned __int128>(unscaled)
                           : static_cast<unsigned __int128>(unscaled);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  const auto places = static_cast<size_t>(scale);
  if (places > 0) {
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    digits.insert(digits.size() - places, 1, '.');
  }
  return unscaled < 0 ? "-" + digits : digits;
}

std::string UuidText(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<uint8_t>(bytes[i]));
  }
  return text;
}

class JsonWriter {
 public:
  JsonWriter(const VariantKeys& keys, std::string* json) : keys_(keys), json_(*json) {}

  arrow::Status Write(const VariantValue& value, int depth) {
    switch (value.kind()) {
      case VariantKind::kNull:
        json_ += "null";
        break;
      case VariantKind::kBoolean:
        json_ += value.boolean() ? "true" : "false";
        break;
      case VariantKind::kLong:
        json_ += std::to_string(value.integer());
        break;
      case VariantKind::kFloat:
        Number(value.number(), JavaFloatText(static_cast<float>(value.number())));
        break;
      case VariantKind::kDouble:
        Number(value.number(), JavaDoubleText(value.number()));
        break;
      case VariantKind::kDecimal:
        json_ += PlainDecimal(value.unscaled(), value.scale());
        break;
      case VariantKind::kString:
        AppendQuoted(value.text(), &json_);
        break;
      case VariantKind::kBinary:
        json_ += '"' + arrow::util::base64_encode(value.text()) + '"';
        break;
      case VariantKind::kDate:
        json_ += '"' + IsoDate(value.integer()) + '"';
        break;
      case VariantKind::kTimestamp:
        json_ += '"' + IsoTimestamp(value.integer()) + "+00:00\"";
        break;
      case VariantKind::kTimestampNtz:
        json_ += '"' + IsoTimestamp(value.integer()) + '"';
        break;
      case VariantKind::kUuid:
        json_ += '"' + UuidText(value.text()) + '"';
        break;
      case VariantKind::kObject:
      case VariantKind::kArray:
        return Container(value, depth);
    }
    return arrow::Status::OK();
  }

 private:
  void Number(double value, const std::string& text) {
    json_ += std::isfinite(value) ? text : '"' + text + '"';
  }

  arrow::Status Container(const VariantValue& value, int depth) {
    if (depth > kVariantDepthMax) return MalformedVariant("nested too deep");
    const bool is_object = value.kind() == VariantKind::kObject;
    json_ += is_object ? '{' : '[';
    for (VariantElements elements(value); elements.HasNext();) {
      const int64_t i = elements.index();
      if (i > 0) json_ += ',';
      if (is_object) {
        ARROW_ASSIGN_OR_RAISE(const std::string_view key, value.FieldKey(i, keys_));
        AppendQuoted(key, &json_);
        json_ += ':';
      }
      ARROW_ASSIGN_OR_RAISE(const VariantValue element, elements.Next());
      ARROW_RETURN_NOT_OK(Write(element, depth + 1));
      // Keys are stored once, but printed wherever they are used.
      if (json_.size() > kJsonSizeMaxBytes) return MalformedVariant("its JSON text is too long");
    }
    json_ += is_object ? '}' : ']';
    return arrow::Status::OK();
  }

  const VariantKeys& keys_;
  std::string& json_;
};

/// Reads one JSON value into a builder.
class JsonReader {
 public:
  JsonReader(std::string_view json, VariantBuilder* builder) : json_(json), builder_(*builder) {}

  arrow::Status Read() {
    ARROW_RETURN_NOT_OK(Value(1));
    SkipBlanks();
    return at_ == json_.size() ? arrow::Status::OK() : Fail("text after the value");
  }

 private:
  arrow::Status Fail(std::string_view what) const {
    return Invalid("JSON text for a VARIANT, character {}: {}", at_ + 1, what);
  }

  void SkipBlanks() {
    while (at_ < json_.size() &&
           std::string_view(" \t\r\n").find(json_[at_]) != std::string_view::npos)
      ++at_;
  }
  char Peek() const { return at_ < json_.size() ? json_[at_] : '\0'; }
  bool Take(char c) {
    if (at_ >= json_.size() || json_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (json_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  arrow::Status Value(int depth) {
    if (depth > kVariantDepthMax) return Fail("nested too deep");
    SkipBlanks();
    switch (Peek()) {
      case '{':
        return Object(depth);
      case '[':
        return Array(depth);
      case '"': {
        std::string text;
        ARROW_RETURN_NOT_OK(Text(&text));
        builder_.AppendString(text);
        return arrow::Status::OK();
      }
      case 't':
        if (!TakeWord("true")) return Fail("no JSON value");
        builder_.AppendBoolean(true);
        return arrow::Status::OK();
      case 'f':
        if (!TakeWord("false")) return Fail("no JSON value");
        builder_.AppendBoolean(false);
        return arrow::Status::OK();
      case 'n':
        if (!TakeWord("null")) return Fail("no JSON value");
        builder_.AppendNull();
        return arrow::Status::OK();
      default:
        return Number();
    }
  }

  arrow::Status Object(int depth) {
    const int64_t begin = builder_.position();
    std::vector<VariantBuilder::Field> fields;
    Take('{');
    SkipBlanks();
    if (!Take('}')) {
      do {
        SkipBlanks();
        if (Peek() != '"') return Fail("a key in double quotes is missing");
        std::string key;
        ARROW_RETURN_NOT_OK(Text(&key));
        SkipBlanks();
        if (!Take(':')) return Fail("':' is missing");
        const uint32_t id = builder_.AddKey(key);
        fields.push_back({builder_.key(id), id, builder_.position() - begin});
        ARROW_RETURN_NOT_OK(Value(depth + 1));
        SkipBlanks();
      } while (Take(','));
      if (!Take('}')) return Fail("',' or '}' is missing");
    }
    return builder_.FinishObject(begin, &fields);
  }

  arrow::Status Array(int depth) {
    const int64_t begin = builder_.position();
    std::vector<int64_t> offsets;
    Take('[');
    SkipBlanks();
    if (!Take(']')) {
      do {
        offsets.push_back(builder_.position() - begin);
        ARROW_RETURN_NOT_OK(Value(depth + 1));
        SkipBlanks();
      } while (Take(','));
      if (!Take(']')) return Fail("',' or ']' is missing");
    }
    builder_.FinishArray(begin, offsets);
    return arrow::Status::OK();
  }

  arrow::Status Text(std::string* out) {
    Take('"');
    while (true) {
      const size_t begin = at_;
      while (at_ < json_.size() && json_[at_] != '"' && json_[at_] != '\\' &&
             static_cast<uint8_t>(json_[at_]) >= 0x20) {
        ++at_;
      }
      *out += json_.substr(begin, at_ - begin);
      if (at_ == json_.size()) return Fail("a text does not end");
      if (Take('"')) return arrow::Status::OK();
      if (json_[at_] != '\\') return Fail("a control character in a text must be escaped");
      ++at_;
      ARROW_RETURN_NOT_OK(Escape(out));
    }
  }

  arrow::Status Escape(std::string* out) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (at_ == json_.size()) return Fail("a text does not end");
    const char letter = json_[at_];
    if (const size_t found = kLetters.find(letter); found != std::string_view::npos) {
      ++at_;
      *out += kMeanings[found];
      return arrow::Status::OK();
    }
    uint32_t unit;
    if (letter != 'u') return Fail("unknown escape in a text");
    ++at_;
    ARROW_RETURN_NOT_OK(CodeUnit(&unit));
    if (unit >= 0xd800 && unit < 0xdc00 && json_.substr(at_, 2) == "\\u") {
      const size_t before = at_;
      at_ += 2;
      uint32_t low;
      ARROW_RETURN_NOT_OK(CodeUnit(&low));
      if (low >= 0xdc00 && low < 0xe000) {
        AppendCodePoint(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), out);
        return arrow::Status::OK();
      }
      at_ = before;
    }
    // Half a pair has no UTF-8; Java writes '?'.
    AppendCodePoint(unit >= 0xd800 && unit < 0xe000 ? '?' : unit, out);
    return arrow::Status::OK();
  }

  arrow::Status CodeUnit(uint32_t* unit) {
    *unit = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = Peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return Fail("four hexadecimal digits are missing after \\u");
      *unit = *unit << 4 | static_cast<uint32_t>(digit);
      ++at_;
    }
    return arrow::Status::OK();
  }

  static void AppendCodePoint(uint32_t point, std::string* out) {
    const auto put = [&](uint32_t byte) { *out += static_cast<char>(byte); };
    if (point < 0x80) {
      put(point);
    } else if (point < 0x800) {
      put(0xc0 | point >> 6);
      put(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
      put(0xe0 | point >> 12);
      put(0x80 | (point >> 6 & 0x3f));
      put(0x80 | (point & 0x3f));
    } else {
      put(0xf0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3f));
      put(0x80 | (point >> 6 & 0x3f));
      put(0x80 | (point & 0x3f));
    }
  }

  size_t Digits() {
    const size_t begin = at_;
    while (Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ - begin;
  }

  arrow::Status Number() {
    const size_t begin = at_;
    const bool negative = Take('-');
    const size_t integer_begin = at_;
    const size_t integer_digits = Digits();
    if (integer_digits == 0) return Fail("no JSON value");
    if (integer_digits > 1 && json_[integer_begin] == '0') return Fail("zeros before a number");
    size_t fraction_digits = 0;
    bool is_integer = true;
    if (Take('.')) {
      is_integer = false;
      fraction_digits = Digits();
      if (fraction_digits == 0) return Fail("no digit after the decimal point");
    }
    const bool has_exponent = Peek() == 'e' || Peek() == 'E';
    if (has_exponent) {
      ++at_;
      if (!Take('-')) Take('+');
      if (Digits() == 0) return Fail("no digit in the exponent");
    }
    const std::string text(json_.substr(begin, at_ - begin));
    if (!has_exponent && AppendExact(text, negative, is_integer, fraction_digits)) {
      return arrow::Status::OK();
    }
    // Values too large are infinite, as for Java.
    builder_.AppendDouble(std::strtod(text.c_str(), nullptr));
    return arrow::Status::OK();
  }

  /// As integer or decimal, if it is one of at most 38 digits.
  bool AppendExact(std::string_view text, bool negative, bool is_integer, size_t fraction_digits) {
    if (fraction_digits > 38) return false;
    __int128 value = 0;
    int digits = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') continue;
      if (value == 0) digits = 0;
      if (++digits > 38) return false;
      value = value * 10 + (c - '0');
    }
    if (negative) value = -value;
    if (is_integer && value == static_cast<int64_t>(value)) {
      builder_.AppendLong(static_cast<int64_t>(value));
    } else {
      builder_.AppendDecimal(value, static_cast<int>(fraction_digits));
    }
    return true;
  }

  std::string_view json_;
  VariantBuilder& builder_;
  size_t at_ = 0;
};

}  // namespace

arrow::Status AppendVariantJson(const VariantValue& value, const VariantKeys& keys,
                                std::string* json) {
  return JsonWriter(keys, json).Write(value, 1);
}

arrow::Result<std::string> VariantToJson(const VariantBytes& variant) {
  ARROW_ASSIGN_OR_RAISE(const VariantKeys keys, VariantKeys::Make(variant.metadata));
  ARROW_ASSIGN_OR_RAISE(const VariantValue value, VariantValue::Parse(variant.value));
  std::string json;
  ARROW_RETURN_NOT_OK(AppendVariantJson(value, keys, &json));
  return json;
}

arrow::Status AppendJson(std::string_view json, VariantBuilder* builder) {
  return JsonReader(json, builder).Read();
}

arrow::Result<std::shared_ptr<arrow::Array>> VariantsToJson(const arrow::Array& variants) {
  const auto& rows = static_cast<const arrow::StructArray&>(variants);
  const auto& values = static_cast<const arrow::BinaryArray&>(*rows.field(0));
  const auto& metadata = static_cast<const arrow::BinaryArray&>(*rows.field(1));
  arrow::StringBuilder texts;
  std::string json;
  for (int64_t i = 0; i < rows.length(); ++i) {
    if (rows.IsNull(i)) {
      ARROW_RETURN_NOT_OK(texts.AppendNull());
      continue;
    }
    auto text = VariantToJson({values.GetView(i), metadata.GetView(i)});
    if (!text.ok()) return WithContext(text.status(), fmt::format("row {} of the batch", i));
    ARROW_RETURN_NOT_OK(texts.Append(*text));
  }
  return texts.Finish();
}

arrow::Result<std::shared_ptr<arrow::Array>> VariantsFromJson(const arrow::Array& texts) {
  const auto& strings = static_cast<const arrow::StringArray&>(texts);
  arrow::BinaryBuilder values;
  arrow::BinaryBuilder metadata;
  VariantBuilder builder;
  for (int64_t i = 0; i < strings.length(); ++i) {
    if (strings.IsNull(i)) {
      ARROW_RETURN_NOT_OK(values.Append(""));
      ARROW_RETURN_NOT_OK(metadata.Append(""));
      continue;
    }
    builder.Clear();
    arrow::Status status = AppendJson(strings.GetView(i), &builder);
    if (!status.ok()) return WithContext(status, fmt::format("row {} of the batch", i));
    ARROW_ASSIGN_OR_RAISE(const std::string_view value, builder.value());
    ARROW_RETURN_NOT_OK(values.Append(value));
    ARROW_RETURN_NOT_OK(metadata.Append(builder.metadata()));
  }
  ARROW_ASSIGN_OR_RAISE(const auto type, ToArrowType(DataType(TypeRoot::kVariant)));
  ARROW_ASSIGN_OR_RAISE(auto value_array, values.Finish());
  ARROW_ASSIGN_OR_RAISE(auto metadata_array, metadata.Finish());
  std::shared_ptr<arrow::Buffer> validity;
  if (strings.null_count() > 0) {
    ARROW_ASSIGN_OR_RAISE(validity, arrow::internal::CopyBitmap(
                                        arrow::default_memory_pool(), strings.null_bitmap_data(),
                                        strings.offset(), strings.length()));
  }
  return std::make_shared<arrow::StructArray>(
      type, strings.length(), arrow::ArrayVector{std::move(value_array), std::move(metadata_array)},
      std::move(validity), strings.null_count());
}

}  // namespace kelda
