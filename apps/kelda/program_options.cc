#include "apps/kelda/program_options.h"

#include <cctype>
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>

#include "kelda/build_info.h"

namespace kelda::cli {
namespace {

constexpr char kDescription[] =
    "SQL on Apache Paimon tables.\n\n"
    "Without -c and -f it opens a shell, or runs the statements that come from a pipe.\n"
    "WAREHOUSE is attached as the catalog `paimon`, its database `default` is current.";

constexpr char kFooter[] =
    "Exit codes: 0 done, 1 a statement failed, 2 wrong use, 130 interrupted.\n"
    "Examples:\n"
    "  kelda ./lake\n"
    "  kelda ./lake -c \"SELECT count(*) FROM t\" --format csv\n"
    "  kelda ./lake -f load.sql --memory 4GB\n"
    "Commands:\n"
    "  kelda compact --help       merge small files of a table, or sort its rows\n";

std::string VersionText() {
  const BuildInfo& info = GetBuildInfo();
  std::string out =
      "kelda " + std::string(info.version) + " (" + std::string(info.git_revision) + ")\n";
  out += "Arrow " + std::string(info.arrow_version) + "\n";
  out += "DuckDB " + std::string(info.duckdb_version) + "\n";
  out += "Paimon format of 1.4.2 (schema 3, snapshot 3)\n";
  return out;
}

/// Digits, an optional fraction, a unit that DuckDB knows.
std::string CheckMemory(const std::string& text) {
  size_t pos = 0;
  while (pos < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[pos])) || text[pos] == '.'))
    ++pos;
  std::string unit;
  for (char c : text.substr(pos)) {
    if (c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const char* known : {"b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib"}) {
    if (pos > 0 && unit == known) return "";
  }
  return "a size is a number and a unit, as 512MB or 4GiB; found " + text;
}

std::string CheckPair(const std::string& text) {
  size_t equals = text.find('=');
  return equals == std::string::npos || equals == 0 ? "an option is KEY=VALUE; found " + text : "";
}

std::string CheckFormat(const std::string& text) {
  if (ParseFormat(text)) return "";
  return "a format is one of box, csv, tsv, json, jsonl, markdown, line; found " + text;
}

/// Options of every command.
void AddCommonOptions(CLI::App* app, std::vector<std::string>* pairs, ProgramOptions* options) {
  app->add_option("-o,--option", *pairs, "option of the catalog; may be given more than once")
      ->allow_extra_args(false)
      ->check(CLI::Validator(CheckPair, ""))
      ->type_name("KEY=VALUE");
  app->add_option("--memory", options->memory,
                  "memory of SQL and engine, a half each; default: 70 % of the machine")
      ->check(CLI::Validator(CheckMemory, ""))
      ->type_name("SIZE");
  app->add_option("--threads", options->threads, "threads of SQL and engine; default: all cores")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  const std::map<std::string, ProgressMode> modes = {
      {"auto", ProgressMode::kAuto}, {"on", ProgressMode::kOn}, {"off", ProgressMode::kOff}};
  app->add_option("--progress", options->progress,
                  "auto, on or off: a bar on standard error for work longer than 2 s")
      ->transform(CLI::CheckedTransformer(modes).description(""))
      ->type_name("MODE");
  app->add_option("--log-level", options->log_level, "error, warn, info or debug; default: warn")
      ->check(CLI::IsMember({"error", "warn", "info", "debug"}).description(""))
      ->type_name("LEVEL");
  app->add_option("--log-file", options->log_file, "where the log goes; default: standard error")
      ->type_name("FILE");
  app->set_help_flag("-h,--help", "print this text and exit");
}

/// Parse; the exit code if that ends the program.
std::optional<int> Parse(CLI::App* app, int argc, char** argv, const char* help) {
  try {
    app->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app->help();
    return 0;
  } catch (const CLI::ParseError& error) {
    std::cerr << "error: " << error.what() << "\n" << help << " lists the options.\n";
    return kExitUsage;
  }
  return std::nullopt;
}

void AddCatalogOptions(const std::vector<std::string>& pairs, ProgramOptions* options) {
  for (const std::string& pair : pairs) {
    size_t equals = pair.find('=');
    options->catalog_options.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
}

std::string QuoteText(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') quoted += c;
    quoted += c;
  }
  return quoted + "'";
}

constexpr char kCompactDescription[] =
    "Merge small files of a table, or sort its rows: CALL sys.compact from the command line.\n\n"
    "TABLE is DATABASE.TABLE, or a table of the database `default`. Others may read and write the\n"
    "table meanwhile. An interrupted run changes nothing and can be repeated.";

constexpr char kCompactFooter[] =
    "Examples:\n"
    "  kelda compact ./lake db.t\n"
    "  kelda compact ./lake db.t --where \"dt >= '2024-01-01'\" --idle-time \"1 d\"\n"
    "  kelda compact ./lake db.t --order-strategy zorder --order-by x,y\n";

/// `kelda compact ...`: argv[0] is the name of the command.
std::variant<ProgramOptions, int> ParseCompactCommand(int argc, char** argv) {
  ProgramOptions options;
  CLI::App app(kCompactDescription, "kelda compact");
  app.footer(kCompactFooter);
  app.get_formatter()->column_width(34);
  std::vector<std::string> pairs, table_options;
  std::string table;
  app.add_option("WAREHOUSE", options.warehouse, "path or URI of a warehouse")->required();
  app.add_option("TABLE", table, "the table")->required();
  std::vector<std::pair<std::string, std::string>> arguments = {
      {"partitions", ""},     {"where", ""},    {"compact_strategy", ""},
      {"order_strategy", ""}, {"order_by", ""}, {"partition_idle_time", ""}};
  auto argument = [&](size_t i, const char* flag, const char* type, const char* text) {
    return app.add_option(flag, arguments[i].second, text)->type_name(type);
  };
  auto* partitions = argument(0, "--partitions", "SPEC", "which partitions: k=v,k=v;k=v");
  argument(1, "--where", "SQL", "which partitions, as a condition")->excludes(partitions);
  argument(2, "--strategy", "WORD", "buckets: full (default) or minor");
  argument(3, "--order-strategy", "WORD", "sort rows: order, zorder or hilbert");
  argument(4, "--order-by", "COLUMNS", "columns to sort by: a,b");
  argument(5, "--idle-time", "TIME", "only partitions whose newest file is as old as this: 1 d");
  app.add_option("-t,--table-option", table_options, "option of the table for this run")
      ->allow_extra_args(false)
      ->check(CLI::Validator(CheckPair, ""))
      ->type_name("KEY=VALUE");
  AddCommonOptions(&app, &pairs, &options);
  if (auto code = Parse(&app, argc, argv, "kelda compact --help")) return *code;
  AddCatalogOptions(pairs, &options);
  std::string joined;
  for (const std::string& option : table_options) joined += (joined.empty() ? "" : ",") + option;
  arguments.emplace_back("options", joined);
  std::string sql = "CALL sys.compact(table => " + QuoteText(table);
  for (const auto& [name, value] : arguments) {
    if (!value.empty()) sql += ", " + name + " => " + QuoteText(value);
  }
  options.scripts.push_back({false, sql + ")"});
  return options;
}

}  // namespace

std::variant<ProgramOptions, int> ParseProgramOptions(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "compact")
    return ParseCompactCommand(argc - 1, argv + 1);
  ProgramOptions options;
  CLI::App app(kDescription, "kelda");
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  std::vector<std::string> commands, files, pairs;
  std::string format;
  app.add_option("WAREHOUSE", options.warehouse,
                 "path or URI of a warehouse: ./lake, s3://bucket/lake, hdfs://host/lake");
  CLI::Option* command =
      app.add_option("-c,--command", commands, "run SQL and exit; may be given more than once");
  CLI::Option* file = app.add_option("-f,--file", files,
                                     "run the statements of a file (- is standard input) and exit");
  for (CLI::Option* each : {command, file})
    each->allow_extra_args(false)->type_name(each == file ? "FILE" : "SQL");
  app.add_flag("--keep-going", options.keep_going, "go on after a statement that failed");
  app.add_option(
         "--format", format,
         "box, csv, tsv, json, jsonl, markdown or line; default: box on a terminal, else csv")
      ->check(CLI::Validator(CheckFormat, ""))
      ->type_name("FORMAT");
  AddCommonOptions(&app, &pairs, &options);
  bool version = false;
  app.add_flag("--version", version, "print versions and exit");
  if (auto code = Parse(&app, argc, argv, "kelda --help")) return *code;
  if (version) {
    std::cout << VersionText();
    return 0;
  }
  if (!pairs.empty() && options.warehouse.empty()) {
    std::cerr << "error: -o sets options of the catalog, which needs a WAREHOUSE\n";
    return kExitUsage;
  }
  AddCatalogOptions(pairs, &options);
  if (!format.empty()) options.format = ParseFormat(format);
  size_t next_command = 0, next_file = 0;
  for (const CLI::Option* option : app.parse_order()) {
    if (option == command) options.scripts.push_back({false, commands[next_command++]});
    if (option == file) options.scripts.push_back({true, files[next_file++]});
  }
  return options;
}

}  // namespace kelda::cli
