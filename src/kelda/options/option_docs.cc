#include "kelda/options/option_docs.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "kelda/options/option_table.h"

namespace kelda {
namespace {

struct Section {
  OptionGroup group;
  std::string_view title;
  std::string_view text;
};

constexpr Section kSections[] = {
    {OptionGroup::kCore, "Table options",
     "Set them with `WITH (...)` or `TBLPROPERTIES (...)`; they are kept in the schema of the "
     "table. "
     "These are the options that Paimon 1.4.2 itself has."},
    {OptionGroup::kFamily, "Families of keys", "The part between `<` and `>` is any text."},
    {OptionGroup::kIceberg, "Iceberg metadata", "Table options."},
    {OptionGroup::kCatalog, "Catalog options", "Set them with `ATTACH` or `kelda -o KEY=VALUE`."},
    {OptionGroup::kEngine, "Options of Spark and Flink",
     "They stand in tables and catalogs that other engines made."},
    {OptionGroup::kFormat, "File formats", "Table options that go to a file format."},
    {OptionGroup::kFileSystem, "File systems", "Catalog options that go to a file system."},
};

constexpr std::string_view kHead = R"(# Options

Made from the table in `src/kelda/options` by `kelda_options_doc`; edit the table, not this page.
In SQL the same table is `SELECT * FROM kelda_options()`.

## How to read this page

- **State.** *implemented*; *harmless*: ignored, and neither rows nor the form on disk depend on it; *not
  implemented*: refused by name where it would matter. Defaults are never refused. A CREATE TABLE refuses
  what reading or writing the table would.
- **Who.** R: reading depends on it, W: writing, M: maintenance, C: the catalog or DDL only.
- **Change.** *fixed*: not after the first snapshot; *by rule*: some changes are refused after it; else it may always change.
- An unknown key is kept and has no effect; a warning names the nearest known key.

## Values

| type | accepted |
|---|---|
| bool | `true` or `false` in any case |
| int, long, double | a decimal number |
| enum | one of the words, in any case |
| size | a whole number with an optional unit `b`, `kb`, `mb`, `gb`, `tb` (powers of 1024); without one: bytes |
| duration | a whole number with an optional unit `ns`, `µs`, `ms`, `s`, `min`, `h`, `d`; without one: milliseconds |
| map | `key:value,key:value`; parts that hold `,` or `:` in quotes |
)";

std::string Escape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') {
      escaped += "\\|";
    } else if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// Patterns hold `<` and `>`, which only code keeps as they are.
std::string Code(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("`{}`", Escape(text));
}

std::string CodeList(const std::vector<std::string_view>& words) {
  std::string list;
  for (std::string_view word : words) {
    if (!list.empty()) list += ", ";
    list += Code(word);
  }
  return list;
}

std::string KeyColumn(const OptionSpec& spec) {
  std::string column = Code(spec.key);
  if (!spec.fallback_keys.empty()) column += ", else " + CodeList(spec.FallbackKeys());
  return column;
}

std::string TypeColumn(const OptionSpec& spec) {
  std::string column(ToString(spec.type));
  if (spec.values.empty()) return column;
  if (spec.type == OptionType::kEnum) {
    return column + ": " + CodeList(OptionSpec::Split(spec.values));
  }
  return column + " " + Escape(spec.values);
}

std::string StateColumn(const OptionSpec& spec) {
  std::string column(ToString(spec.state));
  if (spec.state == OptionState::kHarmless) return fmt::format("{}: {}", column, Escape(spec.why));
  if (spec.refused_on == kRefusedNowhere) return column;
  std::string where;
  const auto add = [&](uint8_t bit, std::string_view text) {
    if ((spec.refused_on & bit) == 0) return;
    if (!where.empty()) where += " and ";
    where += text;
  };
  add(kRefusedOnRead, "read");
  add(kRefusedOnWrite, "write");
  add(kRefusedOnAttach, "ATTACH");
  std::string_view what =
      spec.state == OptionState::kImplemented ? "other values refused" : "refused";
  if (spec.state == OptionState::kImplemented) column += " for " + CodeList(spec.Accepted());
  return fmt::format("{}; {} on {}: {}", column, what, where, Escape(spec.why));
}

void RenderSection(const Section& section, std::string* page) {
  std::vector<const OptionSpec*> rows;
  for (const OptionSpec& spec : AllOptions()) {
    if (spec.group == section.group) rows.push_back(&spec);
  }
  std::sort(rows.begin(), rows.end(),
            [](const OptionSpec* a, const OptionSpec* b) { return a->key < b->key; });
  *page += fmt::format("\n## {} ({})\n\n{}\n\n", section.title, rows.size(), section.text);
  *page +=
      "| key | type | default | who | change | what it does | state "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const OptionSpec* spec : rows) {
    std::string_view change =
        spec->mutability == OptionMutability::kFree ? "" : ToString(spec->mutability);
    *page += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", KeyColumn(*spec),
                         TypeColumn(*spec), Code(spec->default_value.value_or("")),
                         ScopeText(spec->scope), change, Escape(spec->text), StateColumn(*spec));
  }
}

}  // namespace

std::string RenderOptionDocs() {
  std::string page(kHead);
  for (const Section& section : kSections) RenderSection(section, &page);
  return page;
}

}  // namespace kelda
