#include "kelda/format/orc/orc_time.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>

#include "kelda/base/bytes.h"
#include "kelda/row/civil_date.h"

namespace kelda {
namespace {

constexpr int64_t kDay = 86400;
constexpr int64_t kJavaStart = -2208988800;  // 1900-01-01T00:00:00Z
constexpr int64_t kRuleYearLast = 2100;
constexpr size_t kZoneFileMax = 1 << 20;
int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// One change of a rule such as M3.2.0/2: month, week, weekday, second of the day.
struct YearlyChange {
  int month = 0;
  int week = 0;
  int weekday = 0;
  int64_t second = 2 * 3600;

  int64_t DayIn(int64_t year) const {
    const int64_t first = DaysFromCivil({year, month, 1});
    const int64_t first_weekday = ((first + 4) % 7 + 7) % 7;
    int64_t day = 1 + (weekday - first_weekday + 7) % 7 + (week - 1) * 7;
    while (day > DaysInMonth(year, month)) day -= 7;
    return first + day - 1;
  }
};

/// Cursor over a POSIX time zone text such as EST5EDT,M3.2.0,M11.1.0.
class RuleText {
 public:
  explicit RuleText(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }
  char peek() const { return text_.empty() ? '\0' : text_[0]; }
  bool Take(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void Name() {
    if (Take('<')) {
      while (!at_end() && !Take('>')) text_.remove_prefix(1);
      return;
    }
    while (std::isalpha(static_cast<unsigned char>(peek())) != 0) text_.remove_prefix(1);
  }
  bool Number(int* out) {
    const auto result = std::from_chars(text_.data(), text_.data() + text_.size(), *out);
    if (result.ec != std::errc() || *out < -1000 || *out > 1000) return false;
    text_.remove_prefix(static_cast<size_t>(result.ptr - text_.data()));
    return true;
  }
  /// [+-]h[:m[:s]] in seconds.
  bool Duration(int64_t* out) {
    const bool negative = Take('-');
    if (!negative) Take('+');
    int part[3] = {0, 0, 0};
    if (!Number(&part[0])) return false;
    for (int i = 1; i < 3 && Take(':'); ++i) {
      if (!Number(&part[i])) return false;
    }
    *out = part[0] * 3600 + part[1] * 60 + part[2];
    if (negative) *out = -*out;
    return true;
  }
  bool Change(YearlyChange* out) {
    if (!Take(',') || !Take('M') || !Number(&out->month) || !Take('.') || !Number(&out->week) ||
        !Take('.') || !Number(&out->weekday)) {
      return false;
    }
    if (Take('/') && !Duration(&out->second)) return false;
    return out->month >= 1 && out->month <= 12 && out->week >= 1 && out->week <= 5 &&
           out->weekday >= 0 && out->weekday <= 6;
  }

 private:
  std::string_view text_;
};

struct ZoneRule {
  int64_t standard = 0;
  bool daylight = false;
  int64_t summer = 0;
  YearlyChange begin;
  YearlyChange end;

  bool Parse(std::string_view text) {
    RuleText in(text);
    in.Name();
    if (!in.Duration(&standard)) return false;
    standard = -standard;
    if (in.at_end()) return true;
    daylight = true;
    summer = standard + 3600;
    in.Name();
    if (in.peek() != ',') {
      if (!in.Duration(&summer)) return false;
      summer = -summer;
    }
    return in.Change(&begin) && in.Change(&end) && in.at_end();
  }
};

/// Offset of GMT+8, GMT-03:30, UTC+01:00 …; false for other names.
bool FixedOffset(std::string_view name, int64_t* offset) {
  if (!name.starts_with("GMT") && !name.starts_with("UTC")) return false;
  RuleText in(name.substr(3));
  if (in.at_end()) {
    *offset = 0;
    return true;
  }
  return (in.peek() == '+' || in.peek() == '-') && in.Duration(offset) && in.at_end();
}

bool IsZoneName(std::string_view name) {
  return !name.empty() && name.size() < 100 && name[0] != '/' &&
         name.find("..") == std::string_view::npos &&
         std::all_of(
             name.begin(), name.end(),
             [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '/' || c == '_' || c == '-' || c == '+';
             });
}

}  // namespace

arrow::Status OrcZone::ParseFile(const std::string& bytes) {
  // Two blocks, the second with 64-bit times, then the rule for later years between line ends.
  constexpr size_t kHeader = 44;
  const auto bad = [] { return Corruption("the time zone file is broken"); };
  const auto* in = reinterpret_cast<const uint8_t*>(bytes.data());
  if (bytes.size() < 2 * kHeader || !bytes.starts_with("TZif") || bytes[4] < '2') return bad();
  uint64_t counts[6];
  for (size_t i = 0; i < 6; ++i) counts[i] = LoadBE32(in + 20 + i * 4);
  const auto block = [&](uint64_t time_bytes) {
    const auto [utc, wall, leap, times, types, chars] = counts;
    return times * (time_bytes + 1) + types * 6 + chars + leap * (time_bytes + 4) + wall + utc;
  };
  size_t at = kHeader + block(4);
  if (at > bytes.size() || bytes.size() - at < kHeader) return bad();
  for (size_t i = 0; i < 6; ++i) counts[i] = LoadBE32(in + at + 20 + i * 4);
  at += kHeader;
  const uint64_t times = counts[3];
  const uint64_t types = counts[4];
  if (block(8) > bytes.size() - at || types == 0) return bad();
  const uint8_t* indexes = in + at + times * 8;
  const uint8_t* infos = indexes + times;
  int64_t standard = static_cast<int32_t>(LoadBE32(infos));
  for (uint64_t i = 0; i < times; ++i) {
    if (indexes[i] >= types) return bad();
    const uint8_t* info = infos + indexes[i] * 6;
    const int64_t offset = static_cast<int32_t>(LoadBE32(info));
    if (info[4] == 0) standard = offset;
    transitions_.push_back({static_cast<int64_t>(LoadBE64(in + at + i * 8)), offset});
  }
  if (transitions_.empty()) transitions_.push_back({kJavaStart, standard});
  std::string_view footer = std::string_view(bytes).substr(at + block(8));
  ZoneRule rule;
  if (footer.size() >= 2 && footer.front() == '\n' && footer.back() == '\n') {
    footer = footer.substr(1, footer.size() - 2);
    if (!rule.Parse(footer)) return Unsupported("rule '{}' of a time zone", footer);
    standard = rule.standard;
    const int64_t last = transitions_.back().instant;
    for (int64_t year = CivilFromDays(FloorDiv(last, kDay)).year;
         rule.daylight && year <= kRuleYearLast; ++year) {
      Transition pair[] = {
          {rule.begin.DayIn(year) * kDay + rule.begin.second - rule.standard, rule.summer},
          {rule.end.DayIn(year) * kDay + rule.end.second - rule.summer, rule.standard}};
      if (pair[0].instant > pair[1].instant) std::swap(pair[0], pair[1]);
      for (const Transition& change : pair) {
        if (change.instant > transitions_.back().instant) transitions_.push_back(change);
      }
    }
  }
  // What Java knows of the time before 1900 is the standard offset of today.
  before_ = standard;
  auto first =
      std::upper_bound(transitions_.begin(), transitions_.end(), kJavaStart,
                       [](int64_t t, const Transition& change) { return t < change.instant; });
  if (first != transitions_.begin()) {
    --first;
    first->instant = kJavaStart;
    transitions_.erase(transitions_.begin(), first);
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<const OrcZone>> OrcZone::Make(const std::string& name) {
  auto zone = std::make_shared<OrcZone>();
  if (name.empty() || name == "UTC" || name == "GMT" || FixedOffset(name, &zone->before_)) {
    return zone;
  }
  std::ifstream file;
  if (IsZoneName(name)) file.open("/usr/share/zoneinfo/" + name, std::ios::binary);
  if (!file.is_open()) return Unsupported("timestamps of the time zone '{}'", name);
  std::string bytes(kZoneFileMax, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  ARROW_RETURN_NOT_OK(WithContext(zone->ParseFile(bytes), "time zone '" + name + "'"));
  return zone;
}

int64_t OrcZone::OffsetAt(int64_t instant) const {
  if (transitions_.empty()) return before_;
  const int64_t day = FloorDiv(instant, kDay);
  const int64_t year = CivilFromDays(day).year;
  if (year >= kRuleYearLast) {
    // The calendar repeats after 400 years, weekdays included; within, a year of the same form.
    const int64_t start = DaysFromCivil({year, 1, 1});
    const int64_t days = DaysFromCivil({year + 1, 1, 1}) - start;
    for (int64_t same = kRuleYearLast - 29; same < kRuleYearLast; ++same) {
      const int64_t other = DaysFromCivil({same, 1, 1});
      if (DaysFromCivil({same + 1, 1, 1}) - other == days && (start - other) % 7 == 0) {
        return OffsetAt(instant - (start - other) * kDay);
      }
    }
  }
  const auto after =
      std::upper_bound(transitions_.begin(), transitions_.end(), instant,
                       [](int64_t t, const Transition& change) { return t < change.instant; });
  return after == transitions_.begin() ? before_ : (after - 1)->offset;
}

}  // namespace kelda
