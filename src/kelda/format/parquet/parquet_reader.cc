#include "kelda/format/parquet/parquet_reader.h"

#include <algorithm>
#include <deque>
#include <exception>

#include <arrow/table.h>
#include <arrow/util/future.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>

#include "kelda/format/parquet/parquet_input.h"
#include "kelda/format/parquet/parquet_pruning.h"
#include "kelda/format/parquet/parquet_schema.h"
#include "kelda/format/parquet/read_tree.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

/// Column chunks of a row group up to this are fetched at once; larger ones are streamed through a
/// buffer per column.
constexpr int64_t kFetchMax = int64_t{64} << 20;
constexpr int64_t kStreamBufferBytes = int64_t{1} << 20;
/// Batches are cut shorter than asked for when rows are large.
constexpr int64_t kBatchBytesMax = int64_t{64} << 20;

/// A size from the footer for sums that must not overflow; the library checks it where bytes are
/// read.
int64_t BoundedSize(int64_t bytes) { return std::clamp<int64_t>(bytes, 0, int64_t{1} << 40); }

/// The rows of one leaf that its page reader still delivers, and where it stands.
struct LeafCursor {
  std::shared_ptr<parquet::internal::RecordReader> reader;
  std::vector<RowRange> kept;  ///< rows of pages that are not skipped, ascending
  int64_t position = 0;  ///< next row of the row group that the reader would deliver or jump over
};

/// Checks a flat column's pages against the offset index while it leaves out those without wanted
/// rows.
class PageFilter {
 public:
  PageFilter(std::vector<int64_t> starts, std::vector<bool> skip)
      : starts_(std::move(starts)), skip_(std::move(skip)) {}

  bool operator()(const parquet::DataPageStats& page) {
    if (next_ >= skip_.size() || page.num_values != starts_[next_ + 1] - starts_[next_]) {
      throw parquet::ParquetException("pages do not agree with the offset index");
    }
    return skip_[next_++];
  }

 private:
  std::vector<int64_t> starts_;
  std::vector<bool> skip_;
  size_t next_ = 0;
};

class ParquetReader : public FormatReader {
 public:
  ParquetReader(std::string path, ReadOptions options)
      : path_(std::move(path)), options_(std::move(options)) {}

  arrow::Status Open(FileIO& io, int64_t size_bytes) {
    ARROW_ASSIGN_OR_RAISE(auto file, io.OpenInput(path_));
    input_ = std::make_shared<ParquetInput>(std::move(file));
    ARROW_ASSIGN_OR_RAISE(int64_t size, input_->GetSize());
    if (size_bytes >= 0 && size != size_bytes) {
      return Corruption("{}: the file has {} bytes, its metadata says {}", path_, size, size_bytes);
    }
    where_ = "footer";
    return Catching([&] { return OpenFile(); });
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ARROW_RETURN_NOT_OK(failure_);
    std::shared_ptr<arrow::RecordBatch> batch;
    failure_ = Catching([&] { return ReadNext(&batch); });
    ARROW_RETURN_NOT_OK(failure_);
    return batch;
  }

  int64_t first_row() const override { return first_row_; }
  int64_t file_row_count() const override { return rows_; }

 private:
  struct Group {
    int index;
    int64_t first_row;
    std::vector<RowRange> ranges;
  };

  /// Runs `body`, which calls the Parquet library. What it throws means a broken file, unless the
  /// input failed.
  template <typename Body>
  arrow::Status Catching(Body&& body) {
    arrow::Status status;
    try {
      status = body();
      if (status.ok() || CodeOf(status) != ErrorCode::kNone || status.IsOutOfMemory()) {
        return status.ok() ? status : Named(status);
      }
    } catch (const std::bad_alloc&) {
      status = arrow::Status::OutOfMemory("out of memory");
      return Named(status);
    } catch (const parquet::ParquetStatusException& error) {
      status = error.status();
    } catch (const std::exception& error) {
      status = arrow::Status::Invalid(error.what());
    }
    if (arrow::Status failure = input_->failure(); !failure.ok()) return Named(failure);
    if (status.IsOutOfMemory() || status.IsCapacityError()) return Named(status);
    return Corruption("{}: {}: {}", path_, where_, status.message());
  }

  arrow::Status Named(const arrow::Status& status) const {
    return WithContext(status, path_ + ": " + where_);
  }

  arrow::Status OpenFile() {
    parquet::ReaderProperties properties(arrow::default_memory_pool());
    properties.set_page_checksum_verification(true);
    properties.set_schema_depth_limit(3 * kParquetDepthMax);
    properties.enable_buffered_stream();
    properties.set_buffer_size(kStreamBufferBytes);
    file_ = parquet::ParquetFileReader::Open(input_, properties);
    metadata_ = file_->metadata();
    ARROW_RETURN_NOT_OK(CheckRowCounts());
    ARROW_ASSIGN_OR_RAISE(schema_, ToArrowSchema(options_.columns));
    ARROW_ASSIGN_OR_RAISE(tree_, MatchColumns(options_.columns, *metadata_->schema()));
    return PlanGroups();
  }

  arrow::Status CheckRowCounts() {
    rows_ = metadata_->num_rows();
    int64_t total = 0;
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      const int64_t rows = metadata_->RowGroup(i)->num_rows();
      if (rows < 0 || __builtin_add_overflow(total, rows, &total)) {
        return Corruption("row group {} has {} rows", i, rows);
      }
    }
    if (total != rows_) {
      return Corruption("the row groups have {} rows together, the file {}", total, rows_);
    }
    return arrow::Status::OK();
  }

  arrow::Status PlanGroups() {
    ARROW_ASSIGN_OR_RAISE(auto pruning, ParquetPruning::Make(file_.get(), options_.predicate));
    ReadStatistics statistics;
    statistics.row_groups_total = metadata_->num_row_groups();
    int64_t first_row = 0;
    int64_t kept_rows = 0;
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      where_ = fmt::format("row group {}", i);
      auto group = metadata_->RowGroup(i);
      const int64_t rows = group->num_rows();
      const bool wanted =
          options_.rows == nullptr || options_.rows->Overlaps(first_row, first_row + rows);
      std::vector<RowRange> ranges;
      if (wanted) {
        ARROW_ASSIGN_OR_RAISE(ranges, pruning.RowsToRead(i));
      }
      if (options_.rows != nullptr) ranges = WantedParts(ranges, *options_.rows, first_row);
      if (!ranges.empty()) {
        int64_t bytes = 0;
        for (const auto& leaf : tree_.leaves) {
          bytes += BoundedSize(group->ColumnChunk(leaf.ordinal)->total_compressed_size());
        }
        for (const auto& range : ranges) kept_rows += range.length();
        statistics.bytes_planned += bytes;
        statistics.row_groups_read++;
        groups_.push_back({i, first_row, std::move(ranges)});
      }
      first_row += rows;
    }
    statistics.rows_skipped = rows_ - kept_rows;
    if (options_.on_open) options_.on_open(statistics);
    return arrow::Status::OK();
  }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) {
    ARROW_RETURN_NOT_OK(options_.token.Check());
    if (pending_.empty()) ARROW_RETURN_NOT_OK(DecodeNext());
    if (pending_.empty()) return arrow::Status::OK();
    *out = std::move(pending_.front().second);
    first_row_ = pending_.front().first;
    pending_.pop_front();
    return arrow::Status::OK();
  }

  /// Decode the next rows into `pending_`; nothing at the end of the file.
  arrow::Status DecodeNext() {
    while (next_group_ < groups_.size()) {
      const Group& group = groups_[next_group_];
      if (!group_open_) ARROW_RETURN_NOT_OK(OpenGroup(group));
      if (range_ < group.ranges.size()) {
        const RowRange& range = group.ranges[range_];
        const int64_t first = std::max(range.first, position_);
        const int64_t rows = std::min(batch_rows_, range.last - first);
        position_ = first + rows;
        if (position_ == range.last) ++range_;
        return DecodeRows(group, first, rows);
      }
      ARROW_RETURN_NOT_OK(CloseGroup(group));
    }
    return arrow::Status::OK();
  }

  arrow::Status OpenGroup(const Group& group) {
    where_ = fmt::format("row group {}", group.index);
    auto metadata = metadata_->RowGroup(group.index);
    auto reader = file_->RowGroup(group.index);
    std::vector<int> ordinals;
    int64_t compressed = 0;
    int64_t uncompressed = 0;
    for (const auto& leaf : tree_.leaves) {
      auto chunk = metadata->ColumnChunk(leaf.ordinal);
      ARROW_RETURN_NOT_OK(CheckChunk(*metadata, leaf, *chunk));
      ordinals.push_back(leaf.ordinal);
      compressed += BoundedSize(chunk->total_compressed_size());
      uncompressed += BoundedSize(chunk->total_uncompressed_size());
    }
    if (!ordinals.empty() && compressed <= kFetchMax) {
      file_->PreBuffer({group.index}, ordinals, arrow::io::default_io_context(),
                       arrow::io::CacheOptions::Defaults());
      ARROW_RETURN_NOT_OK(file_->WhenBuffered({group.index}, ordinals).status());
    }
    const int64_t row_bytes = uncompressed / std::max<int64_t>(metadata->num_rows(), 1) + 1;
    batch_rows_ = std::clamp<int64_t>(kBatchBytesMax / row_bytes, 1,
                                      std::max<int64_t>(options_.batch_rows, 1));
    cursors_.clear();
    for (const auto& leaf : tree_.leaves) {
      ARROW_RETURN_NOT_OK(OpenLeaf(group, *metadata, leaf, reader.get()));
    }
    group_open_ = true;
    position_ = 0;
    range_ = 0;
    return arrow::Status::OK();
  }

  arrow::Status CheckChunk(const parquet::RowGroupMetaData& group, const ReadLeaf& leaf,
                           const parquet::ColumnChunkMetaData& chunk) {
    const std::string name = leaf.descriptor->path()->ToDotString();
    const bool count_fits =
        leaf.repeated() ? chunk.num_values() >= 0 : chunk.num_values() == group.num_rows();
    if (!count_fits) {
      return Corruption("column '{}' has {} values in {} rows", name, chunk.num_values(),
                        group.num_rows());
    }
    if (chunk.total_compressed_size() < 0 || chunk.total_uncompressed_size() < 0) {
      return Corruption("column '{}' has a negative size", name);
    }
    return arrow::Status::OK();
  }

  arrow::Status OpenLeaf(const Group& group, const parquet::RowGroupMetaData& metadata,
                         const ReadLeaf& leaf, parquet::RowGroupReader* reader) {
    LeafCursor cursor;
    cursor.kept = {{0, metadata.num_rows()}};
    cursor.reader = parquet::internal::RecordReader::Make(
        leaf.descriptor, leaf.levels, arrow::default_memory_pool(), /*read_dictionary=*/false,
        /*read_dense_for_nullable=*/false);
    auto pages = reader->GetColumnPageReader(leaf.ordinal);
    const bool all_rows = group.ranges.size() == 1 && group.ranges[0] == cursor.kept[0];
    if (!all_rows && !leaf.repeated()) {
      std::vector<int64_t> starts = StartsOf(group.index, leaf.ordinal, metadata.num_rows());
      if (!starts.empty()) SkipPages(group, std::move(starts), pages.get(), &cursor.kept);
    }
    cursor.reader->SetPageReader(std::move(pages));
    cursors_.push_back(std::move(cursor));
    return arrow::Status::OK();
  }

  std::vector<int64_t> StartsOf(int row_group, int ordinal, int64_t rows) {
    auto index = file_->GetPageIndexReader();
    auto reader = index ? index->RowGroup(row_group) : nullptr;
    if (reader == nullptr) return {};
    return PageStarts(reader->GetOffsetIndex(ordinal).get(), rows);
  }

  static void SkipPages(const Group& group, std::vector<int64_t> starts, parquet::PageReader* pages,
                        std::vector<RowRange>* kept) {
    kept->clear();
    std::vector<bool> skip;
    size_t r = 0;
    for (size_t page = 0; page + 1 < starts.size(); ++page) {
      while (r < group.ranges.size() && group.ranges[r].last <= starts[page]) ++r;
      const bool wanted = r < group.ranges.size() && group.ranges[r].first < starts[page + 1];
      skip.push_back(!wanted);
      if (!wanted) continue;
      if (!kept->empty() && kept->back().last == starts[page]) {
        kept->back().last = starts[page + 1];
      } else {
        kept->push_back({starts[page], starts[page + 1]});
      }
    }
    pages->set_data_page_filter(PageFilter(std::move(starts), std::move(skip)));
  }

  /// Move to row `row` of the row group: only rows of pages that were kept pass through the reader.
  static bool Advance(LeafCursor* cursor, int64_t row) {
    int64_t skip = 0;
    for (const auto& range : cursor->kept) {
      const int64_t first = std::max(range.first, cursor->position);
      const int64_t last = std::min(range.last, row);
      if (first < last) skip += last - first;
    }
    cursor->position = row;
    return skip == 0 || cursor->reader->SkipRecords(skip) == skip;
  }

  arrow::Status DecodeRows(const Group& group, int64_t first, int64_t rows) {
    std::vector<LeafData> data(tree_.leaves.size());
    for (size_t i = 0; i < tree_.leaves.size(); ++i) {
      const ReadLeaf& leaf = tree_.leaves[i];
      where_ = fmt::format("row group {}, column '{}'", group.index,
                           leaf.descriptor->path()->ToDotString());
      LeafCursor& cursor = cursors_[i];
      auto& reader = *cursor.reader;
      reader.Reset();
      if (!Advance(&cursor, first)) return Corruption("the column ends before row {}", first);
      if (!leaf.repeated()) reader.Reserve(rows);
      const int64_t read = reader.ReadRecords(rows);
      if (read != rows) {
        return Corruption("the column ends at row {}, the row group has more", first + read);
      }
      cursor.position = first + rows;
      ARROW_RETURN_NOT_OK(TakeLeaf(leaf, &reader, rows, &data[i]));
    }
    where_ = fmt::format("row group {}", group.index);
    std::vector<arrow::ArrayVector> columns;
    for (const auto& column : tree_.columns) {
      ARROW_ASSIGN_OR_RAISE(auto arrays, AssembleColumn(column, data, rows));
      columns.push_back(std::move(arrays));
    }
    return Emit(group.first_row + first, rows, std::move(columns));
  }

  static arrow::Status TakeLeaf(const ReadLeaf& leaf, parquet::internal::RecordReader* reader,
                                int64_t rows, LeafData* out) {
    out->level_count = rows;
    if (leaf.levels.def_level > 0) {
      out->definition = reader->def_levels();
      out->level_count = reader->levels_position();
    }
    if (leaf.levels.rep_level > 0) out->repetition = reader->rep_levels();
    ARROW_ASSIGN_OR_RAISE(out->values, leaf.conversion.Take(reader));
    return arrow::Status::OK();
  }

  /// One batch, or several when a column came in several arrays.
  arrow::Status Emit(int64_t first, int64_t rows, std::vector<arrow::ArrayVector> columns) {
    const bool whole = std::all_of(columns.begin(), columns.end(),
                                   [](const auto& arrays) { return arrays.size() == 1; });
    if (whole) {
      arrow::ArrayVector arrays;
      for (auto& column : columns) arrays.push_back(std::move(column[0]));
      pending_.emplace_back(first, arrow::RecordBatch::Make(schema_, rows, std::move(arrays)));
      return arrow::Status::OK();
    }
    arrow::ChunkedArrayVector chunked;
    for (auto& column : columns) {
      chunked.push_back(std::make_shared<arrow::ChunkedArray>(std::move(column)));
    }
    auto table = arrow::Table::Make(schema_, std::move(chunked), rows);
    arrow::TableBatchReader batches(*table);
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      ARROW_RETURN_NOT_OK(batches.ReadNext(&batch));
      if (!batch) return arrow::Status::OK();
      const int64_t length = batch->num_rows();
      pending_.emplace_back(first, std::move(batch));
      first += length;
    }
  }

  arrow::Status CloseGroup(const Group& group) {
    const int64_t rows = metadata_->RowGroup(group.index)->num_rows();
    for (size_t i = 0; i < cursors_.size(); ++i) {
      LeafCursor& cursor = cursors_[i];
      if (cursor.position != rows) continue;
      where_ = fmt::format("row group {}, column '{}'", group.index,
                           tree_.leaves[i].descriptor->path()->ToDotString());
      if (cursor.reader->SkipRecords(1) != 0) {
        return Corruption("the column has more than the {} rows of the row group", rows);
      }
    }
    cursors_.clear();
    group_open_ = false;
    ++next_group_;
    return arrow::Status::OK();
  }

  const std::string path_;
  const ReadOptions options_;
  std::string where_;
  std::shared_ptr<ParquetInput> input_;
  std::unique_ptr<parquet::ParquetFileReader> file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::shared_ptr<arrow::Schema> schema_;
  ReadTree tree_;
  int64_t rows_ = 0;

  std::vector<Group> groups_;
  size_t next_group_ = 0;
  bool group_open_ = false;
  size_t range_ = 0;
  int64_t position_ = 0;
  int64_t batch_rows_ = 0;
  std::vector<LeafCursor> cursors_;

  std::deque<std::pair<int64_t, std::shared_ptr<arrow::RecordBatch>>> pending_;
  int64_t first_row_ = 0;
  arrow::Status failure_;
};

}  // namespace

arrow::Result<std::unique_ptr<FormatReader>> OpenParquetReader(FileIO& io, const std::string& path,
                                                               int64_t size_bytes,
                                                               const ReadOptions& options) {
  auto reader = std::make_unique<ParquetReader>(path, options);
  ARROW_RETURN_NOT_OK(reader->Open(io, size_bytes));
  return std::unique_ptr<FormatReader>(std::move(reader));
}

}  // namespace kelda
