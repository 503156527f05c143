#include "tests/fault/table_fixture.h"

#include "kelda/row/binary_row.h"

namespace kelda {

arrow::Result<TableContextPtr> OpenTestTable(std::shared_ptr<FileIO> io,
                                             const std::map<std::string, std::string>& options) {
  Environment env;
  env.io = std::move(io);
  env.clock = std::make_shared<JumpingClock>();
  env.executor = Executor::MakeInline();
  env.budget = MemoryBudget::Make(int64_t{1} << 30);
  ARROW_ASSIGN_OR_RAISE(auto catalog, OpenFileSystemCatalog("/wh", {}, env));
  Identifier id;
  id.database = "default";
  id.table = "t";
  TableDefinition definition;
  definition.fields = {DataField{-1, "id", DataType(TypeRoot::kInt), {}, {}},
                       DataField{-1, "pt", DataType::String(), {}, {}}};
  definition.partition_keys = {"pt"};
  definition.options = options;
  ARROW_RETURN_NOT_OK(catalog->CreateTable(id, definition, /*ignore_if_exists=*/true));
  // Without a cache, so that every read goes through `io`.
  env.manifest_cache = nullptr;
  return TableContext::Load(env, "default.t", "/wh/default.db/t");
}

arrow::Result<CommitMessage> NewFileMessage(const TableContext& table, const std::string& pt,
                                            const std::string& file_name, int64_t rows) {
  CommitMessage message;
  ARROW_ASSIGN_OR_RAISE(
      std::string row,
      EncodeBinaryRow({DataType::String()}, {std::make_shared<arrow::StringScalar>(pt)}));
  message.partition = SerializeRow(1, row);
  DataFileMeta file;
  file.file_name = file_name;
  file.file_size = 4;
  file.row_count = rows;
  file.min_key = file.max_key = EmptySerializedRow();
  file.key_stats = file.value_stats = SimpleStats::Empty();
  file.value_stats_cols = std::vector<std::string>();
  file.max_sequence_number = rows - 1;
  file.file_source = kFileSourceAppend;
  file.delete_row_count = 0;
  message.new_files.push_back(file);
  const std::string path = table.paths.BucketDir("pt=" + pt + "/", 0) + "/" + file_name;
  ARROW_ASSIGN_OR_RAISE(auto stream, table.env.io->CreateNew(path));
  ARROW_RETURN_NOT_OK(stream->Write("data", 4));
  ARROW_RETURN_NOT_OK(stream->Close());
  return message;
}

arrow::Result<std::multiset<std::string>> CheckedLiveFiles(const TableContext& table) {
  ARROW_ASSIGN_OR_RAISE(auto ids, table.snapshots->ListIds());
  std::multiset<std::string> names;
  int64_t total = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != static_cast<int64_t>(i) + 1)
      return Invalid("snapshot ids have a gap before {}", ids[i]);
    ARROW_ASSIGN_OR_RAISE(Snapshot snapshot, table.snapshots->Read(ids[i]));
    ARROW_ASSIGN_OR_RAISE(auto entries, ReadLiveEntries(table, snapshot));
    names.clear();
    int64_t rows = 0;
    for (const auto& entry : entries) {
      names.insert(entry.file.file_name);
      rows += entry.file.row_count;
    }
    if (rows != snapshot.total_record_count) {
      return Invalid("snapshot {} says {} rows, its files have {}", ids[i],
                     snapshot.total_record_count, rows);
    }
    if (total + snapshot.delta_record_count != rows) {
      return Invalid("snapshot {} says a change of {} rows, it is {}", ids[i],
                     snapshot.delta_record_count, rows - total);
    }
    total = rows;
  }
  ARROW_ASSIGN_OR_RAISE(auto latest, table.snapshots->LatestId());
  if (latest.value_or(0) != (ids.empty() ? 0 : ids.back()))
    return Invalid("the newest snapshot is not found as such");
  return names;
}

}  // namespace kelda
