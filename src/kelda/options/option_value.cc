#include "kelda/options/option_value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kelda/base/status.h"

namespace kelda {
namespace {

constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr size_t kPrintedBytesMax = 100;

char LowerChar(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerChar(c);
  return lower;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (LowerChar(a[i]) != LowerChar(b[i])) return false;
  }
  return true;
}

// Java's String.trim: everything up to the blank goes.
std::string_view Trim(std::string_view text) {
  auto blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

struct Unit {
  std::string_view name;
  int64_t factor;
};

constexpr int64_t kKib = 1024;
constexpr auto kSizeUnits = std::to_array<Unit>({
    {"", 1},
    {"b", 1},
    {"bytes", 1},
    {"k", kKib},
    {"kb", kKib},
    {"kibibytes", kKib},
    {"m", kKib* kKib},
    {"mb", kKib* kKib},
    {"mebibytes", kKib* kKib},
    {"g", kKib* kKib* kKib},
    {"gb", kKib* kKib* kKib},
    {"gibibytes", kKib* kKib* kKib},
    {"t", kKib* kKib* kKib* kKib},
    {"tb", kKib* kKib* kKib* kKib},
    {"tebibytes", kKib* kKib* kKib* kKib},
});

// Negative factors divide: -1000 stands for a thousandth of a millisecond.
constexpr int64_t kSecond = 1000;
constexpr auto kDurationUnits = std::to_array<Unit>({
    {"", 1},
    {"d", 86400 * kSecond},
    {"day", 86400 * kSecond},
    {"days", 86400 * kSecond},
    {"h", 3600 * kSecond},
    {"hour", 3600 * kSecond},
    {"hours", 3600 * kSecond},
    {"m", 60 * kSecond},
    {"min", 60 * kSecond},
    {"minute", 60 * kSecond},
    {"minutes", 60 * kSecond},
    {"s", kSecond},
    {"sec", kSecond},
    {"secs", kSecond},
    {"second", kSecond},
    {"seconds", kSecond},
    {"ms", 1},
    {"milli", 1},
    {"millis", 1},
    {"millisecond", 1},
    {"milliseconds", 1},
    {"\xC2\xB5s", -1000},
    {"micro", -1000},
    {"micros", -1000},
    {"microsecond", -1000},
    {"microseconds", -1000},
    {"ns", -1000000},
    {"nano", -1000000},
    {"nanos", -1000000},
    {"nanosecond", -1000000},
    {"nanoseconds", -1000000},
});

constexpr std::string_view kSizeSyntax =
    "expected a whole number with an optional unit b, kb, mb, gb or tb";
constexpr std::string_view kDurationSyntax =
    "expected a whole number with an optional unit ns, \xC2\xB5s, ms, s, min, h or d (without one: "
    "ms)";

arrow::Result<int64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units,
                                     std::string_view syntax) {
  text = Trim(text);
  size_t digits = 0;
  while (digits < text.size() && IsDigit(text[digits])) ++digits;
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (digits == 0) return arrow::Status::Invalid(syntax);
  std::string unit_name = Lower(Trim(text.substr(digits)));
  for (const Unit& unit : units) {
    if (unit.name != unit_name) continue;
    bool too_large = error == std::errc::result_out_of_range;
    if (!too_large && unit.factor < 0) return number / -unit.factor;
    if (too_large || (unit.factor > 0 && number > kInt64Max / unit.factor)) {
      return arrow::Status::Invalid("the number is too large");
    }
    return number * unit.factor;
  }
  return arrow::Status::Invalid(syntax);
}

// One alternative of a range: `-1`, `>= 1` or `0..1`.
struct Interval {
  double low;
  double high;
};

double RangeNumber(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<Interval> ParseRange(std::string_view range) {
  std::vector<Interval> intervals;
  for (std::string_view part : OptionSpec::Split(range)) {
    part = Trim(part);
    size_t dots = part.find("..");
    if (part.starts_with(">=")) {
      intervals.push_back({RangeNumber(Trim(part.substr(2))), HUGE_VAL});
    } else if (dots != std::string_view::npos) {
      intervals.push_back({RangeNumber(part.substr(0, dots)), RangeNumber(part.substr(dots + 2))});
    } else {
      intervals.push_back({RangeNumber(part), RangeNumber(part)});
    }
  }
  return intervals;
}

arrow::Status CheckRange(const OptionSpec& spec, double value) {
  if (spec.values.empty()) return arrow::Status::OK();
  for (const Interval& interval : ParseRange(spec.values)) {
    if (value >= interval.low && value <= interval.high) return arrow::Status::OK();
  }
  return Invalid("accepted is {}", spec.values);
}

// A word of an enum with `<n>`: truncate(<n>).
std::optional<std::string> MatchWord(std::string_view word, std::string_view text) {
  size_t open = word.find("<n>");
  if (open == std::string_view::npos) {
    if (EqualsIgnoreCase(word, text)) return std::string(word);
    return std::nullopt;
  }
  std::string_view head = word.substr(0, open), tail = word.substr(open + 3);
  if (text.size() <= head.size() + tail.size()) return std::nullopt;
  std::string_view digits = text.substr(head.size(), text.size() - head.size() - tail.size());
  if (!EqualsIgnoreCase(head, text.substr(0, head.size())) ||
      !EqualsIgnoreCase(tail, text.substr(text.size() - tail.size()))) {
    return std::nullopt;
  }
  if (!ParseOptionInteger(digits, 0, std::numeric_limits<int32_t>::max()).ok() ||
      !IsDigit(digits.front())) {
    return std::nullopt;
  }
  return std::string(head) + std::string(digits) + std::string(tail);
}

// Reads one part of a map up to an unquoted `stop` or the end; `text` moves past it.
arrow::Result<std::string> TakeMapPart(std::string_view* text, char stop) {
  *text = Trim(*text);
  if (!text->empty() && (text->front() == '"' || text->front() == '\'')) {
    char quote = text->front();
    std::string part;
    size_t i = 1;
    while (true) {
      if (i >= text->size()) return arrow::Status::Invalid("a quote is not closed");
      if ((*text)[i] != quote) {
        part += (*text)[i++];
      } else if (i + 1 < text->size() && (*text)[i + 1] == quote) {
        part += quote;
        i += 2;
      } else {
        break;
      }
    }
    *text = Trim(text->substr(i + 1));
    if (!text->empty() && text->front() != stop) {
      return arrow::Status::Invalid("there is text after a closed quote");
    }
    return part;
  }
  size_t end = std::min(text->find(stop), text->size());
  std::string part(Trim(text->substr(0, end)));
  text->remove_prefix(end);
  return part;
}

}  // namespace

arrow::Result<bool> ParseOptionBool(std::string_view text) {
  if (EqualsIgnoreCase(text, "true")) return true;
  if (EqualsIgnoreCase(text, "false")) return false;
  return arrow::Status::Invalid("expected true or false");
}

arrow::Result<int64_t> ParseOptionInteger(std::string_view text, int64_t min, int64_t max) {
  int64_t value = 0;
  std::string_view digits = text;
  // Java reads a plus sign, from_chars does not.
  if (digits.starts_with('+') && digits.size() > 1 && IsDigit(digits[1])) digits.remove_prefix(1);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) {
    return arrow::Status::Invalid("expected a whole number");
  }
  if (error != std::errc() || value < min || value > max) {
    return Invalid("expected a whole number between {} and {}", min, max);
  }
  return value;
}

arrow::Result<double> ParseOptionDouble(std::string_view text) {
  text = Trim(text);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(value)) {
    return arrow::Status::Invalid("expected a number");
  }
  return value;
}

arrow::Result<int64_t> ParseOptionSize(std::string_view text) {
  return ParseWithUnit(text, kSizeUnits, kSizeSyntax);
}

arrow::Result<std::chrono::milliseconds> ParseOptionDuration(std::string_view text) {
  ARROW_ASSIGN_OR_RAISE(int64_t millis, ParseWithUnit(text, kDurationUnits, kDurationSyntax));
  return std::chrono::milliseconds(millis);
}

arrow::Result<std::map<std::string, std::string>> ParseOptionMap(std::string_view text) {
  std::map<std::string, std::string> map;
  text = Trim(text);
  while (!text.empty()) {
    ARROW_ASSIGN_OR_RAISE(std::string key, TakeMapPart(&text, ':'));
    if (text.empty()) return arrow::Status::Invalid("expected key:value,key:value");
    text.remove_prefix(1);
    ARROW_ASSIGN_OR_RAISE(std::string value, TakeMapPart(&text, ','));
    if (!map.emplace(std::move(key), std::move(value)).second) {
      return arrow::Status::Invalid("a key stands twice");
    }
    if (text.empty()) break;
    text = Trim(text.substr(1));
    if (text.empty()) return arrow::Status::Invalid("expected key:value after the last comma");
  }
  return map;
}

arrow::Result<std::string> ParseOptionEnum(std::string_view text, std::string_view values) {
  for (std::string_view word : OptionSpec::Split(values)) {
    if (std::optional<std::string> match = MatchWord(word, text)) return *std::move(match);
  }
  std::string list;
  for (std::string_view word : OptionSpec::Split(values)) {
    list += list.empty() ? "" : ", ";
    list += word;
  }
  return arrow::Status::Invalid("accepted is ", list);
}

arrow::Result<std::string> CanonicalOptionValue(const OptionSpec& spec, std::string_view text) {
  switch (spec.type) {
    case OptionType::kBool: {
      ARROW_ASSIGN_OR_RAISE(bool value, ParseOptionBool(text));
      return std::string(value ? "true" : "false");
    }
    case OptionType::kInt:
    case OptionType::kLong: {
      bool is_int = spec.type == OptionType::kInt;
      int64_t max = is_int ? std::numeric_limits<int32_t>::max() : kInt64Max;
      ARROW_ASSIGN_OR_RAISE(int64_t value, ParseOptionInteger(text, -max - 1, max));
      ARROW_RETURN_NOT_OK(CheckRange(spec, static_cast<double>(value)));
      return std::to_string(value);
    }
    case OptionType::kDouble: {
      ARROW_ASSIGN_OR_RAISE(double value, ParseOptionDouble(text));
      ARROW_RETURN_NOT_OK(CheckRange(spec, value));
      return fmt::format("{}", value);
    }
    case OptionType::kSize: {
      ARROW_ASSIGN_OR_RAISE(int64_t value, ParseOptionSize(text));
      ARROW_RETURN_NOT_OK(CheckRange(spec, static_cast<double>(value)));
      return std::to_string(value);
    }
    case OptionType::kDuration: {
      ARROW_ASSIGN_OR_RAISE(std::chrono::milliseconds value, ParseOptionDuration(text));
      ARROW_RETURN_NOT_OK(CheckRange(spec, static_cast<double>(value.count())));
      return std::to_string(value.count());
    }
    case OptionType::kEnum:
      return ParseOptionEnum(text, spec.values);
    case OptionType::kMap: {
      ARROW_ASSIGN_OR_RAISE(auto map, ParseOptionMap(text));
      // Length prefixes keep two maps apart whatever their texts hold.
      std::string form;
      for (const auto& [key, value] : map) {
        form += fmt::format("{}:{}{}:{}", key.size(), key, value.size(), value);
      }
      return form;
    }
    case OptionType::kString:
      return std::string(text);
  }
  return arrow::Status::UnknownError("option '", spec.key, "' has no type");
}

arrow::Status CheckOptionValue(const OptionSpec& spec, std::string_view text) {
  return CanonicalOptionValue(spec, text).status();
}

arrow::Status OptionValueError(std::string_view key, std::string_view text,
                               const arrow::Status& why) {
  return Invalid("option '{}': value '{}' is wrong: {}", PrintableOptionText(key),
                 PrintableOptionText(text), why.message());
}

std::string PrintableOptionText(std::string_view text) {
  std::string printable;
  std::string_view head = text.substr(0, kPrintedBytesMax);
  // Not through the middle of a UTF-8 character.
  while (head.size() < text.size() && !head.empty() &&
         (static_cast<unsigned char>(text[head.size()]) & 0xC0) == 0x80) {
    head.remove_suffix(1);
  }
  for (char c : head) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      printable += fmt::format("\\x{:02x}", byte);
    } else {
      printable += c;
    }
  }
  if (head.size() < text.size()) printable += "...";
  return printable;
}

}  // namespace kelda
