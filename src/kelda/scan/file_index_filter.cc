#include "kelda/scan/file_index_filter.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "kelda/base/executor.h"
#include "kelda/base/log.h"
#include "kelda/format/file_format.h"
#include "kelda/format/file_index/file_index.h"

namespace kelda {

namespace {

/// A plan opens up to this many side files; with more of them, readers do, file by file.
constexpr int64_t kSideFilesMax = 20000;

const DataField* FieldById(const std::vector<DataField>& fields, int32_t id) {
  for (const DataField& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

/// The column that `path` means, in the words of the file; nothing if it was of another type, or if
/// the file may hold other texts than its index: ORC pads CHAR.
std::optional<IndexedColumn> ResolveInFile(const std::vector<DataField>& table_fields,
                                           const std::vector<DataField>& file_fields, bool orc,
                                           const std::vector<std::string>& path) {
  if (path.empty()) return std::nullopt;
  auto field = std::find_if(table_fields.begin(), table_fields.end(),
                            [&](const DataField& f) { return f.name == path[0]; });
  if (field == table_fields.end()) return std::nullopt;
  const DataField* written = FieldById(file_fields, field->id);
  if (written == nullptr || !written->type.EqualsIgnoringNullability(field->type))
    return std::nullopt;
  IndexedColumn column{written->name, written->type};
  if (path.size() == 2) {
    if (written->type.root() != TypeRoot::kMap || !written->type.key().IsString())
      return std::nullopt;
    column = {written->name + "[" + path[1] + "]", written->type.value()};
  } else if (path.size() > 2) {
    return std::nullopt;
  }
  if (orc && column.type.root() == TypeRoot::kChar) return std::nullopt;
  return column;
}

struct FileRef {
  Split* split;
  size_t index;
};

/// Drops the files with an entry false in `kept`, which is parallel to `files` of all splits.
void DropFiles(const std::vector<std::vector<bool>>& kept, std::vector<Split>* splits) {
  for (size_t s = 0; s < splits->size(); ++s) {
    Split& split = (*splits)[s];
    size_t next = 0;
    for (size_t i = 0; i < split.files.size(); ++i) {
      if (!kept[s][i]) continue;
      if (next != i) {
        split.files[next] = std::move(split.files[i]);
        if (!split.deletion_files.empty())
          split.deletion_files[next] = std::move(split.deletion_files[i]);
        split.row_ranges[next] = std::move(split.row_ranges[i]);
      }
      ++next;
    }
    split.files.resize(next);
    split.row_ranges.resize(next);
    if (!split.deletion_files.empty()) split.deletion_files.resize(next);
  }
  std::erase_if(*splits, [](const Split& split) { return split.files.empty(); });
}

}  // namespace

arrow::Result<std::unique_ptr<FileIndexFilter>> FileIndexFilter::Make(const TableContext& table,
                                                                      PredicatePtr predicate) {
  ARROW_ASSIGN_OR_RAISE(bool enabled, table.options.Get(OptionKeys::kFileIndexReadEnabled));
  if (!enabled || predicate == nullptr) return nullptr;
  return std::unique_ptr<FileIndexFilter>(new FileIndexFilter(table, std::move(predicate)));
}

const std::string* FileIndexFilter::SideFile(const DataFileMeta& file) {
  const std::string* found = nullptr;
  for (const std::string& name : file.extra_files) {
    if (!name.ends_with(".index")) continue;
    if (found != nullptr) return nullptr;
    found = &name;
  }
  return found;
}

arrow::Result<RowSelection> FileIndexFilter::SelectEmbedded(const DataFileMeta& file) const {
  return SelectFrom(IndexInput::FromMemory(*file.embedded_file_index,
                                           fmt::format("table {}, metadata of data file '{}'",
                                                       table_.name, file.file_name)),
                    file);
}

arrow::Result<RowSelection> FileIndexFilter::Select(const DataFileMeta& file,
                                                    const std::string& path) const {
  if (HasEmbedded(file)) return SelectEmbedded(file);
  const std::string* side = SideFile(file);
  if (side == nullptr) return RowSelection::All(file.row_count);
  auto input = IndexInput::FromFile(*table_.env.io, JoinPath(ParentPath(path), *side));
  if (IsNotFound(input.status())) {
    KELDA_LOG(Warn, "table {}: read without file index: {}", table_.name, input.status().message());
    return RowSelection::All(file.row_count);
  }
  ARROW_RETURN_NOT_OK(input);
  return SelectFrom(*std::move(input), file);
}

arrow::Result<RowSelection> FileIndexFilter::SelectFrom(std::unique_ptr<IndexInput> input,
                                                        const DataFileMeta& file) const {
  TableSchemaPtr schema = table_.schema;
  if (file.schema_id != schema->id) {
    ARROW_ASSIGN_OR_RAISE(schema, table_.schemas->Read(file.schema_id));
  }
  ARROW_ASSIGN_OR_RAISE(auto container, IndexContainer::Open(std::move(input)));
  const bool orc = FormatOfFileName(file.file_name) == "orc";
  const IndexedColumnResolver resolver = [&](const std::vector<std::string>& path) {
    return ResolveInFile(table_.fields(), schema->fields, orc, path);
  };
  return SelectIndexedRows(container, *predicate_, resolver, file.row_count);
}

arrow::Status ApplyFileIndexes(const TableContext& table, const FileIndexFilter& filter,
                               const CancellationToken& token, std::vector<Split>* splits,
                               ScanStatistics* statistics) {
  std::vector<FileRef> files;
  int64_t side_files = 0;
  for (Split& split : *splits) {
    // Versions of a key that a merge has yet to choose from must not be left out.
    if (!split.section_ends.empty()) continue;
    for (size_t i = 0; i < split.files.size(); ++i) {
      const bool side = FileIndexFilter::SideFile(split.files[i]) != nullptr;
      if (!side && !FileIndexFilter::HasEmbedded(split.files[i])) continue;
      files.push_back({&split, i});
      side_files += side ? 1 : 0;
    }
  }
  if (files.empty() || side_files > kSideFilesMax) return arrow::Status::OK();
  for (Split& split : *splits) {
    split.row_ranges.resize(split.files.size());
    split.indexes_used = true;
  }
  std::vector<char> dropped(files.size(), 0);
  ARROW_RETURN_NOT_OK(ParallelFor(
      *table.env.executor, static_cast<int64_t>(files.size()), token,
      [&](int64_t n) -> arrow::Status {
        const FileRef ref = files[static_cast<size_t>(n)];
        const DataFileMeta& file = ref.split->files[ref.index];
        ARROW_ASSIGN_OR_RAISE(RowSelection rows, filter.Select(file, ref.split->FilePath(file)));
        dropped[static_cast<size_t>(n)] = rows.none() ? 1 : 0;
        if (!rows.all() && !rows.none()) {
          ref.split->row_ranges[ref.index] = std::make_shared<const RowRanges>(rows.ToRanges());
        }
        return arrow::Status::OK();
      }));
  std::vector<std::vector<bool>> kept;
  for (const Split& split : *splits) kept.emplace_back(split.files.size(), true);
  for (size_t n = 0; n < files.size(); ++n) {
    if (dropped[n] == 0) continue;
    kept[static_cast<size_t>(files[n].split - splits->data())][files[n].index] = false;
    ++statistics->files_skipped_by_index;
  }
  DropFiles(kept, splits);
  std::unordered_set<std::string_view> partitions;
  for (const Split& split : *splits) partitions.insert(split.partition);
  statistics->partitions_planned = static_cast<int64_t>(partitions.size());
  return arrow::Status::OK();
}

}  // namespace kelda
