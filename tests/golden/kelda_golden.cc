// Makes every read that a directory of golden tables names and compares it with what Java read.

#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <arrow/compute/initialize.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kelda/catalog/catalog.h"
#include "kelda/catalog/system_tables.h"
#include "kelda/read/file_read.h"
#include "kelda/scan/plan.h"
#include "tests/tools/golden_json.h"

namespace kelda {
namespace {

constexpr std::string_view kUsage =
    "usage: kelda_golden DIR [--only PREFIX] [--verbose] [--strict]\n"
    "  DIR        manifest.json, warehouse/ and expected/\n"
    "  --only     tables whose DATABASE.TABLE starts with PREFIX\n"
    "  --verbose  print reads that are equal, too\n"
    "  --strict   a refused read fails unless the manifest marks its table with \"later\"\n";

/// A read, taken apart: `branch:b+snapshot:2`.
struct ReadSpec {
  Identifier id;
  std::map<std::string, std::string> options;
  std::vector<std::string> columns;
  bool all_columns = true;
  bool files = false;
};

std::vector<std::string> SplitText(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

arrow::Result<ReadSpec> ParseRead(const std::string& database, const std::string& table,
                                  const std::string& read) {
  static const std::map<std::string, std::string, std::less<>> kSystemTables = {
      {"audit", "audit_log"}, {"ro", "ro"}, {"row_tracking", "row_tracking"}, {"binlog", "binlog"}};
  ReadSpec spec;
  spec.id.database = database;
  spec.id.table = table;
  for (const std::string& part : SplitText(read, '+')) {
    const size_t colon = part.find(':');
    const std::string kind = part.substr(0, colon);
    const std::string argument = colon == std::string::npos ? "" : part.substr(colon + 1);
    if (kind == "latest") continue;
    if (kind == "files") {
      spec.files = true;
    } else if (kind == "snapshot") {
      spec.options["scan.snapshot-id"] = argument;
    } else if (kind == "tag") {
      spec.options["scan.tag-name"] = argument;
    } else if (kind == "branch") {
      spec.id.branch = argument;
    } else if (kind == "columns") {
      spec.columns = SplitText(argument, ',');
      spec.all_columns = false;
    } else if (const auto found = kSystemTables.find(kind); found != kSystemTables.end()) {
      spec.id.system_table = found->second;
    } else if (kind == "changelog" || kind == "incremental" || kind == "stream" ||
               kind == "stream_full") {
      return Unsupported("{} reads", kind);
    } else {
      return Invalid("unknown read {}", read);
    }
  }
  return spec;
}

arrow::Result<std::vector<std::string>> ReadFiles(const TableContext& table) {
  std::vector<std::string> lines;
  ARROW_ASSIGN_OR_RAISE(const std::optional<Snapshot> snapshot, table.snapshots->Latest());
  if (!snapshot) return lines;
  if (table.schema->Option("manifest.format", "avro") != "avro") {
    ARROW_RETURN_NOT_OK(table.CheckReadable());
  }
  ARROW_ASSIGN_OR_RAISE(const auto entries, ReadLiveEntries(table, *snapshot));
  for (const ManifestEntry& entry : entries) {
    ARROW_ASSIGN_OR_RAISE(const TableSchemaPtr schema, table.schemas->Read(entry.file.schema_id));
    ARROW_ASSIGN_OR_RAISE(std::string line, GoldenFileEntry(*schema, entry));
    lines.push_back(std::move(line));
  }
  if (snapshot->index_manifest) {
    ARROW_ASSIGN_OR_RAISE(const auto index,
                          table.manifests().ReadIndexManifest(*snapshot->index_manifest));
    for (const IndexManifestEntry& entry : index) {
      ARROW_ASSIGN_OR_RAISE(std::string line, GoldenIndexEntry(*table.schema, entry));
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

arrow::Result<std::vector<std::string>> ReadSystem(const TableContext& table,
                                                   const std::string& name,
                                                   const UnorderedColumns& unordered) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<DataField> fields, SystemTableFields(table, name));
  std::vector<int> columns;
  for (size_t i = 0; i < fields.size(); ++i) columns.push_back(static_cast<int>(i));
  ARROW_ASSIGN_OR_RAISE(const auto batch, ReadSystemTable(table, name, columns));
  std::vector<std::string> lines;
  ARROW_RETURN_NOT_OK(AppendGoldenLines(fields, *batch, unordered, &lines));
  return lines;
}

arrow::Result<std::vector<std::string>> ReadRows(const TableContextPtr& loaded,
                                                 const ReadSpec& spec,
                                                 const UnorderedColumns& unordered) {
  ARROW_RETURN_NOT_OK(loaded->CheckReadable());
  ARROW_ASSIGN_OR_RAISE(const std::optional<Snapshot> snapshot, ResolveSnapshot(*loaded));
  ARROW_ASSIGN_OR_RAISE(const TableContextPtr table, ContextForSnapshot(loaded, snapshot));
  TableReadOptions options;
  if (spec.all_columns) options.columns = table->fields();
  for (const std::string& column : spec.columns) {
    const int index = table->schema->FieldIndex(column);
    if (index < 0) return Invalid("the table has no column {}", column);
    options.columns.push_back(table->fields()[static_cast<size_t>(index)]);
  }
  ScanRequest request;
  request.snapshot = snapshot;
  if (!spec.all_columns) request.projection = &options.columns;
  ARROW_ASSIGN_OR_RAISE(const ScanPlan plan, PlanScan(*table, request));
  std::mutex mutex;
  std::vector<std::string> lines;
  ARROW_RETURN_NOT_OK(
      ReadPlan(*table, plan, options, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
        const std::lock_guard<std::mutex> lock(mutex);
        return AppendGoldenLines(options.columns, *batch, unordered, &lines);
      }));
  return lines;
}

arrow::Result<std::vector<std::string>> ExpectedLines(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFound("{}", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class Runner {
 public:
  Runner(std::string dir, std::string only, bool verbose, bool strict)
      : dir_(std::move(dir)), only_(std::move(only)), verbose_(verbose), strict_(strict) {}

  arrow::Status Run() {
    std::ifstream in(dir_ + "/manifest.json", std::ios::binary);
    if (!in) return NotFound("{}/manifest.json", dir_);
    const nlohmann::json manifest = nlohmann::json::parse(in);
    Environment env;
    env.io = MakeLocalFileIO();
    ARROW_ASSIGN_OR_RAISE(catalog_, OpenFileSystemCatalog(dir_ + "/warehouse", {}, env));
    for (const auto& table : manifest.at("tables")) {
      const std::string name = fmt::format("{}.{}", table.at("database").get<std::string>(),
                                           table.at("table").get<std::string>());
      if (name.starts_with(only_)) RunTable(name, table);
    }
    std::cout << fmt::format("{} passed, {} failed, {} skipped\n", passed_, failed_, skipped_);
    return arrow::Status::OK();
  }

  bool ok() const { return failed_ == 0 && passed_ + skipped_ > 0; }

 private:
  void RunTable(const std::string& name, const nlohmann::json& table) {
    UnorderedColumns unordered;
    for (const auto& column : table.at("unordered")) unordered.insert(column.get<std::string>());
    for (const auto& read : table.at("reads")) {
      const std::string text = read.at("read").get<std::string>();
      arrow::Result<std::string> difference =
          Compare(table, text, read.at("file").get<std::string>(), unordered);
      const bool refused = !difference.ok() && IsUnsupported(difference.status());
      if (refused && !(strict_ && !table.contains("later"))) {
        ++skipped_;
        Print("skip", name, text, difference.status().message());
      } else if (!difference.ok()) {
        ++failed_;
        Print("fail", name, text, difference.status().ToString());
      } else if (!difference->empty()) {
        ++failed_;
        Print("fail", name, text, *difference);
      } else {
        ++passed_;
        if (verbose_) Print("ok", name, text, "");
      }
    }
  }

  arrow::Result<std::string> Compare(const nlohmann::json& table, const std::string& read,
                                     const std::string& file, const UnorderedColumns& unordered) {
    ARROW_ASSIGN_OR_RAISE(const auto want, ExpectedLines(dir_ + "/" + file));
    ARROW_ASSIGN_OR_RAISE(const ReadSpec spec,
                          ParseRead(table.at("database").get<std::string>(),
                                    table.at("table").get<std::string>(), read));
    ARROW_ASSIGN_OR_RAISE(const TableContextPtr context,
                          catalog_->LoadTable(spec.id, spec.options));
    std::vector<std::string> got;
    if (spec.files) {
      ARROW_ASSIGN_OR_RAISE(got, ReadFiles(*context));
    } else if (!spec.id.system_table.empty()) {
      ARROW_ASSIGN_OR_RAISE(got, ReadSystem(*context, spec.id.system_table, unordered));
    } else {
      ARROW_ASSIGN_OR_RAISE(got, ReadRows(context, spec, unordered));
    }
    SortGoldenLines(&got);
    return FirstDifference(got, want);
  }

  static void Print(std::string_view word, const std::string& table, const std::string& read,
                    const std::string& reason) {
    std::cout << word << ' ' << table << ' ' << read << (reason.empty() ? "" : ": ") << reason
              << '\n';
  }

  std::string dir_;
  std::string only_;
  bool verbose_;
  bool strict_;
  std::shared_ptr<Catalog> catalog_;
  int passed_ = 0;
  int failed_ = 0;
  int skipped_ = 0;
};

int Main(const std::vector<std::string>& arguments) {
  std::string dir;
  std::string only;
  bool verbose = false;
  bool strict = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--verbose") {
      verbose = true;
    } else if (arguments[i] == "--strict") {
      strict = true;
    } else if (arguments[i] == "--only" && i + 1 < arguments.size()) {
      only = arguments[++i];
    } else if (arguments[i].starts_with("--") || !dir.empty()) {
      std::cerr << kUsage;
      return 2;
    } else {
      dir = arguments[i];
    }
  }
  if (dir.empty()) {
    std::cerr << kUsage;
    return 2;
  }
  try {
    arrow::Status status = arrow::compute::Initialize();
    Runner runner(dir, only, verbose, strict);
    if (status.ok()) status = runner.Run();
    if (!status.ok()) {
      std::cerr << "error: " << status.ToString() << '\n';
      return 1;
    }
    return runner.ok() ? 0 : 1;
  } catch (const nlohmann::json::exception& error) {
    std::cerr << "error: " << dir << "/manifest.json: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace
}  // namespace kelda

int main(int argc, char** argv) {
  return kelda::Main(std::vector<std::string>(argv + 1, argv + argc));
}
