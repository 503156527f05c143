#include "kelda/metadata/tag.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "kelda/row/partition_path.h"
#include "kelda/types/table_schema.h"

namespace kelda {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kTagFileMaxBytes = 64 << 20;
constexpr int32_t kNanosPerSecond = 1'000'000'000;

/// `[2024, 5, 14, 9, 30, 15, 123000000]`, seconds and nanoseconds left out when zero.
std::optional<SecondsAndNanos> TimeOfParts(const Json& json) {
  static constexpr std::array<int64_t, 7> kMax = {9999, 12, 31, 23, 59, 59, kNanosPerSecond - 1};
  if (json.size() < 5 || json.size() > kMax.size()) return std::nullopt;
  std::array<int64_t, 7> parts = {};
  for (size_t i = 0; i < json.size(); ++i) {
    if (!json[i].is_number_integer()) return std::nullopt;
    parts[i] = json[i].get<int64_t>();
    if (parts[i] < 0 || parts[i] > kMax[i]) return std::nullopt;
  }
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(parts[0])),
                                         std::chrono::month(static_cast<unsigned>(parts[1])),
                                         std::chrono::day(static_cast<unsigned>(parts[2])));
  if (!date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return SecondsAndNanos{((days * 24 + parts[3]) * 60 + parts[4]) * 60 + parts[5],
                         static_cast<int32_t>(parts[6])};
}

Json PartsOfTime(const SecondsAndNanos& time) {
  const std::chrono::sys_seconds seconds{std::chrono::seconds(time.seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  Json json = Json::array({static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                           static_cast<unsigned>(date.day()), clock.hours().count(),
                           clock.minutes().count()});
  if (clock.seconds().count() != 0 || time.nanos != 0) json.push_back(clock.seconds().count());
  if (time.nanos != 0) json.push_back(time.nanos);
  return json;
}

/// A date-time in either form that Java reads.
std::optional<SecondsAndNanos> ParseTime(const Json& json) {
  if (json.is_array()) return TimeOfParts(json);
  if (!json.is_string()) return std::nullopt;
  auto text = json.get<std::string>();
  if (text.size() > 10 && text[10] == 'T') text[10] = ' ';
  // Nanoseconds would end in 2262: a tag is not finer than microseconds in text.
  auto scalar = CastFromText(DataType::Temporal(TypeRoot::kTimestamp, 6), text);
  if (!scalar.ok() || !(*scalar)->is_valid) return std::nullopt;
  const int64_t micros = static_cast<const arrow::TimestampScalar&>(**scalar).value;
  const int64_t seconds = micros / 1'000'000 - (micros % 1'000'000 < 0 ? 1 : 0);
  return SecondsAndNanos{seconds, static_cast<int32_t>(micros - seconds * 1'000'000) * 1000};
}

/// Seconds with a fraction, or text of a Duration.
std::optional<SecondsAndNanos> ParseRetained(const Json& json) {
  if (json.is_string()) return ParseDurationText(json.get_ref<const std::string&>());
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) return std::nullopt;
  if (json.is_number_integer()) return SecondsAndNanos{json.get<int64_t>(), 0};
  if (!json.is_number()) return std::nullopt;
  const double seconds = json.get<double>();
  if (!(std::abs(seconds) < 9e15)) return std::nullopt;
  SecondsAndNanos parsed{static_cast<int64_t>(std::floor(seconds)), 0};
  parsed.nanos = static_cast<int32_t>(std::llround((seconds - std::floor(seconds)) * 1e9));
  if (parsed.nanos == kNanosPerSecond) return SecondsAndNanos{parsed.seconds + 1, 0};
  return parsed;
}

/// Take member `key` out of `unknown`; null if there is none.
Json TakeMember(const char* key, Json* unknown) {
  auto it = unknown->find(key);
  if (it == unknown->end()) return Json();
  Json value = std::move(*it);
  unknown->erase(it);
  return value;
}

}  // namespace

arrow::Result<Tag> Tag::FromJsonText(std::string_view text, std::string_view source) {
  Tag tag;
  ARROW_ASSIGN_OR_RAISE(tag.snapshot, Snapshot::FromJsonText(text, source));
  const auto read = [&](const char* key, auto parse,
                        std::optional<SecondsAndNanos>* out) -> arrow::Status {
    const Json value = TakeMember(key, &tag.snapshot.unknown);
    if (value.is_null()) return arrow::Status::OK();
    *out = parse(value);
    if (*out) return arrow::Status::OK();
    return Corruption("corrupt tag file '{}': {} is {}", source, key,
                      value.dump(-1, ' ', false, Json::error_handler_t::replace));
  };
  ARROW_RETURN_NOT_OK(read("tagCreateTime", ParseTime, &tag.create_time));
  ARROW_RETURN_NOT_OK(read("tagTimeRetained", ParseRetained, &tag.time_retained));
  return tag;
}

std::string Tag::ToJsonText() const {
  Snapshot with_time = snapshot;
  if (create_time) with_time.unknown["tagCreateTime"] = PartsOfTime(*create_time);
  if (!time_retained) return with_time.ToJsonText();
  // Nine decimals, which no number of JSON here prints: put in as text and its quotes taken off.
  const double seconds = static_cast<double>(time_retained->seconds) + time_retained->nanos / 1e9;
  const std::string number =
      time_retained->seconds >= 0
          ? fmt::format("{}.{:09}", time_retained->seconds, time_retained->nanos)
          : fmt::format("{:.9f}", seconds);
  with_time.unknown["tagTimeRetained"] = number;
  std::string text = with_time.ToJsonText();
  const std::string quoted = "\"" + number + "\"";
  const size_t place = text.rfind(quoted);
  text.replace(place, quoted.size(), number);
  return text;
}

arrow::Result<Tag> ReadTag(const TableContext& table, const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos)
    return NotFound("table {}: there is no tag '{}'", table.name, name);
  const std::string path = table.paths.TagFile(name);
  ARROW_ASSIGN_OR_RAISE(std::string text, table.env.io->ReadAll(path, kTagFileMaxBytes));
  return Tag::FromJsonText(text, path);
}

std::string DurationText(const SecondsAndNanos& duration) {
  const auto [seconds, nanos] = duration;
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
    std::string fraction = fmt::format("{:09}", borrows ? kNanosPerSecond - nanos : nanos);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text + "S";
}

std::optional<SecondsAndNanos> ParseDurationText(std::string_view text) {
  SecondsAndNanos sum;
  bool negative = false;
  if (text.starts_with('-')) {
    negative = true;
    text.remove_prefix(1);
  }
  if (!text.starts_with('P') || text.size() < 3) return std::nullopt;
  text.remove_prefix(1);
  bool in_time = false;
  while (!text.empty()) {
    if (!in_time && text.starts_with('T')) {
      in_time = true;
      text.remove_prefix(1);
      continue;
    }
    int64_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    const bool minus = text.starts_with('-');
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    int64_t nanos = 0;
    if (text.starts_with('.')) {
      size_t digits = 1;
      while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
      if (digits == 1 || digits > 10) return std::nullopt;
      for (size_t i = 1; i < 10; ++i) nanos = nanos * 10 + (i < digits ? text[i] - '0' : 0);
      text.remove_prefix(digits);
      if (!text.starts_with('S')) return std::nullopt;
    }
    if (text.empty()) return std::nullopt;
    const char unit = text.front();
    const int64_t scale = !in_time && unit == 'D'  ? 86400
                          : in_time && unit == 'H' ? 3600
                          : in_time && unit == 'M' ? 60
                          : in_time && unit == 'S' ? 1
                                                   : 0;
    if (scale == 0 || __builtin_mul_overflow(number, scale, &number) ||
        __builtin_add_overflow(sum.seconds, number, &sum.seconds)) {
      return std::nullopt;
    }
    sum.nanos = static_cast<int32_t>(minus ? -nanos : nanos);
    text.remove_prefix(1);
  }
  if (negative) {
    if (sum.seconds == INT64_MIN) return std::nullopt;
    sum = {-sum.seconds, -sum.nanos};
  }
  if (sum.nanos < 0) {
    if (sum.seconds == INT64_MIN) return std::nullopt;
    sum = {sum.seconds - 1, sum.nanos + kNanosPerSecond};
  }
  return sum;
}

}  // namespace kelda
