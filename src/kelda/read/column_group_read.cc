#include "kelda/read/column_group_read.h"

#include <algorithm>
#include <map>

#include "kelda/read/selecting_reader.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

/// Files with the same columns, whose rows follow one another, as one sequence of rows.
struct Strand {
  std::vector<const DataFileMeta*> files;
  std::vector<DataField> columns;
  std::vector<int> outputs;  ///< place of each column in the output
};

/// Reads one strand; knows how many rows of the current batch are used up.
class StrandReader {
 public:
  StrandReader(const TableContext& table, const Split& split, Strand strand,
               TableReadOptions options)
      : table_(table), split_(split), strand_(std::move(strand)), options_(std::move(options)) {
    options_.columns = strand_.columns;
  }

  const Strand& strand() const { return strand_; }

  /// Rows at hand; 0 at the end.
  arrow::Result<int64_t> Available() {
    while (batch_ == nullptr || position_ == batch_->num_rows()) {
      if (reader_ == nullptr) {
        if (next_file_ == strand_.files.size()) return 0;
        ARROW_ASSIGN_OR_RAISE(reader_,
                              OpenDataFile(table_, split_, *strand_.files[next_file_++], options_));
      }
      ARROW_ASSIGN_OR_RAISE(batch_, reader_->Next());
      position_ = 0;
      if (batch_ == nullptr) reader_.reset();
    }
    return batch_->num_rows() - position_;
  }
  /// REQUIRES: rows <= Available().
  std::shared_ptr<arrow::RecordBatch> Take(int64_t rows) {
    auto part = batch_->Slice(position_, rows);
    position_ += rows;
    return part;
  }

 private:
  const TableContext& table_;
  const Split& split_;
  Strand strand_;
  TableReadOptions options_;
  size_t next_file_ = 0;
  std::unique_ptr<FormatReader> reader_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t position_ = 0;
};

class ColumnGroupReader : public FormatReader {
 public:
  ColumnGroupReader(std::vector<StrandReader> strands, std::shared_ptr<arrow::Schema> schema,
                    int64_t row_count, std::string name)
      : strands_(std::move(strands)),
        schema_(std::move(schema)),
        row_count_(row_count),
        name_(std::move(name)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    int64_t rows = row_count_ - next_row_;
    if (rows == 0) return nullptr;
    for (StrandReader& strand : strands_) {
      ARROW_ASSIGN_OR_RAISE(int64_t available, strand.Available());
      rows = std::min(rows, available);
    }
    if (rows == 0) {
      return Corruption("{}: some files of the group end at row {} of {}", name_, next_row_,
                        row_count_);
    }
    arrow::ArrayVector columns(static_cast<size_t>(schema_->num_fields()));
    for (StrandReader& strand : strands_) {
      const auto part = strand.Take(rows);
      for (size_t i = 0; i < strand.strand().outputs.size(); ++i)
        columns[static_cast<size_t>(strand.strand().outputs[i])] =
            part->column(static_cast<int>(i));
    }
    first_row_ = next_row_;
    next_row_ += rows;
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  }
  int64_t first_row() const override { return first_row_; }
  int64_t file_row_count() const override { return row_count_; }

 private:
  std::vector<StrandReader> strands_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t row_count_;
  std::string name_;
  int64_t next_row_ = 0;
  int64_t first_row_ = 0;
};

bool Stores(const std::vector<DataField>& fields, int32_t id) {
  return std::any_of(fields.begin(), fields.end(), [&](const DataField& f) { return f.id == id; });
}

/// The pieces of a blob column in row order; of pieces that cover the same rows the newest.
arrow::Result<std::vector<const DataFileMeta*>> ChainBlobs(std::vector<const DataFileMeta*> pieces,
                                                           int64_t first_row_id, int64_t row_count,
                                                           const std::string& context) {
  std::sort(pieces.begin(), pieces.end(), [](const DataFileMeta* a, const DataFileMeta* b) {
    if (*a->first_row_id != *b->first_row_id) return *a->first_row_id < *b->first_row_id;
    return a->max_sequence_number > b->max_sequence_number;
  });
  std::vector<const DataFileMeta*> chain;
  int64_t next = first_row_id;
  for (const DataFileMeta* piece : pieces) {
    if (*piece->first_row_id < next) {
      if (!chain.empty() && piece->max_sequence_number < chain.back()->max_sequence_number)
        continue;
      return Corruption("{}: blob file '{}' overlaps the one before it", context, piece->file_name);
    }
    if (*piece->first_row_id > next) break;
    chain.push_back(piece);
    next += piece->row_count;
  }
  if (next != first_row_id + row_count) {
    return Corruption("{}: no blob file for row id {}", context, next);
  }
  return chain;
}

}  // namespace

arrow::Result<std::unique_ptr<FormatReader>> OpenColumnGroup(const TableContext& table,
                                                             const Split& split,
                                                             const ReadUnit& unit,
                                                             const TableReadOptions& options) {
  const std::string context =
      fmt::format("table {}, file '{}'", table.name, split.FilePath(split.files[unit.files[0]]));
  struct Member {
    const DataFileMeta* file;
    std::vector<DataField> fields;
  };
  std::vector<Member> members;
  std::vector<Member> blobs;
  for (size_t index : unit.files) {
    const DataFileMeta& file = split.files[index];
    if (split.DeletionOf(index) != nullptr) {
      return Unsupported("{}: deletion vectors under data evolution", context);
    }
    ARROW_ASSIGN_OR_RAISE(auto fields, StoredFieldsOf(table, file));
    (IsBlobFile(file) ? blobs : members).push_back({&file, std::move(fields)});
  }
  if (members.empty()) return Corruption("{}: blob files without the rows they belong to", context);
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return a.file->max_sequence_number > b.file->max_sequence_number;
  });
  const int64_t first_row_id = *members[0].file->first_row_id;
  for (const Member& member : members) {
    if (*member.file->first_row_id != first_row_id || member.file->row_count != unit.row_count) {
      return Corruption("{}: the files of a group do not cover the same rows ('{}')", context,
                        member.file->file_name);
    }
  }

  ARROW_ASSIGN_OR_RAISE(const auto columns, ColumnsToMake(table, options));
  ARROW_ASSIGN_OR_RAISE(auto schema, ToArrowSchema(columns));
  std::map<const DataFileMeta*, Strand> strands;
  for (size_t i = 0; i < columns.size(); ++i) {
    const DataField& column = columns[i];
    std::vector<const DataFileMeta*> pieces;
    for (const Member& blob : blobs) {
      if (Stores(blob.fields, column.id)) pieces.push_back(blob.file);
    }
    std::vector<const DataFileMeta*> files;
    if (!pieces.empty()) {
      ARROW_ASSIGN_OR_RAISE(files,
                            ChainBlobs(std::move(pieces), first_row_id, unit.row_count, context));
    } else {
      // Row ids, sequence numbers, partition columns and what no file stores: the newest file.
      const auto found = std::find_if(members.begin(), members.end(), [&](const Member& member) {
        return Stores(member.fields, column.id);
      });
      files = {found == members.end() ? members[0].file : found->file};
    }
    Strand& strand = strands[files[0]];
    strand.files = std::move(files);
    strand.columns.push_back(column);
    strand.outputs.push_back(static_cast<int>(i));
  }

  // A predicate says nothing of the rows of a single file here.
  TableReadOptions each;
  each.batch_rows = options.batch_rows;
  each.token = options.token;
  each.on_open = options.on_open;
  if (strands.empty()) strands[members[0].file].files = {members[0].file};
  std::vector<StrandReader> readers;
  for (auto& [file, strand] : strands) {
    readers.emplace_back(table, split, std::move(strand), each);
  }
  Selection selection;
  if (options.exact_filter) selection.filter = options.predicate;
  selection.output_columns = static_cast<int>(options.columns.size());
  selection.token = options.token;
  return SelectRows(std::make_unique<ColumnGroupReader>(std::move(readers), std::move(schema),
                                                        unit.row_count, context),
                    std::move(selection));
}

}  // namespace kelda
