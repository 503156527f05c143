// Index type `bitmap` (spec 01 §7.6): rows of every value, versions 1 and 2.
#include <algorithm>
#include <limits>

#include "kelda/format/file_index/column_index.h"
#include "kelda/format/file_index/index_bitmap.h"
#include "kelda/format/file_index/index_options.h"
#include "kelda/format/file_index/value_dictionary.h"

namespace kelda {

namespace {

constexpr int64_t kDefaultBlockBytes = 16 << 10;
/// Bytes of a roaring bitmap of one row, which version 2 notes for a single NULL.
constexpr int32_t kSingleRowBytes = 18;

void AppendBE32(int64_t value, std::string* out) {
  char bytes[4];
  StoreBE32(bytes, static_cast<uint32_t>(value));
  out->append(bytes, 4);
}

/// Where the rows of a value are.
struct Place {
  int32_t offset = 0;   ///< < 0: the single row -1 - offset
  int32_t length = -1;  ///< -1: single row, or not known (version 1)
};

class BitmapWriter : public ColumnIndexWriter {
 public:
  BitmapWriter(KeyForm form, int version, int64_t block_bytes)
      : values_(std::move(form)), version_(version), block_bytes_(block_bytes) {}

  arrow::Status Write(const arrow::Array& array) override { return values_.Add(array); }
  int64_t BufferedBytes() const override { return values_.BufferedBytes(); }

  arrow::Result<std::string> Finish() override {
    const ValueDictionary::Sorted sorted = values_.Sort();
    std::string body;
    Place null_place;
    if (!sorted.nulls.empty()) null_place = Append(sorted.nulls, &body);
    std::vector<Place> places;
    for (size_t i = 0; i < sorted.keys.size(); ++i) {
      const std::span<const uint32_t> rows(sorted.rows.data() + sorted.starts[i],
                                           sorted.starts[i + 1] - sorted.starts[i]);
      places.push_back(Append(rows, &body));
      if (body.size() > std::numeric_limits<int32_t>::max())
        return Invalid("bitmap index of more than 2147483647 bytes");
    }
    std::string out(1, static_cast<char>(version_));
    AppendBE32(static_cast<int64_t>(sorted.ranks.size()), &out);
    AppendBE32(static_cast<int64_t>(sorted.keys.size()), &out);
    out.push_back(sorted.nulls.empty() ? '\0' : '\1');
    if (!sorted.nulls.empty()) {
      AppendBE32(null_place.offset, &out);
      if (version_ == 2)
        AppendBE32(null_place.length < 0 ? kSingleRowBytes : null_place.length, &out);
    }
    if (version_ == 1) {
      for (size_t i = 0; i < places.size(); ++i) {
        values_.form().Append(sorted.keys[i], &out);
        AppendBE32(places[i].offset, &out);
      }
    } else {
      ARROW_RETURN_NOT_OK(AppendBlocks(sorted.keys, places, &out));
    }
    return out + body;
  }

 private:
  static Place Append(std::span<const uint32_t> rows, std::string* body) {
    if (rows.size() == 1) return {static_cast<int32_t>(-1 - static_cast<int64_t>(rows[0])), -1};
    Roaring bitmap;
    bitmap.AddAll(rows);
    const std::string bytes = bitmap.Serialize();
    const Place place{static_cast<int32_t>(body->size()), static_cast<int32_t>(bytes.size())};
    body->append(bytes);
    return place;
  }

  arrow::Status AppendBlocks(const std::vector<IndexKey>& keys, const std::vector<Place>& places,
                             std::string* out) const {
    const KeyForm& form = values_.form();
    std::string index;
    std::string blocks;
    int32_t block_count = 0;
    for (size_t begin = 0; begin < keys.size();) {
      int64_t bytes = 4;
      size_t end = begin;
      while (end < keys.size()) {
        const int64_t entry = form.StoredSize(keys[end]) + 8;
        if (end > begin && bytes + entry > block_bytes_) break;
        bytes += entry;
        ++end;
      }
      form.Append(keys[begin], &index);
      AppendBE32(static_cast<int64_t>(blocks.size()), &index);
      AppendBE32(static_cast<int64_t>(end - begin), &blocks);
      for (size_t i = begin; i < end; ++i) {
        form.Append(keys[i], &blocks);
        AppendBE32(places[i].offset, &blocks);
        AppendBE32(places[i].length, &blocks);
      }
      if (blocks.size() > std::numeric_limits<int32_t>::max())
        return Invalid("bitmap index of more than 2147483647 bytes");
      ++block_count;
      begin = end;
    }
    AppendBE32(block_count, out);
    out->append(index);
    AppendBE32(static_cast<int64_t>(blocks.size()), out);
    out->append(blocks);
    return arrow::Status::OK();
  }

  ValueDictionary values_;
  int version_;
  int64_t block_bytes_;
};

class BitmapReader : public ColumnIndexReader {
 public:
  BitmapReader(KeyForm form, IndexBlob blob, int64_t rows)
      : form_(std::move(form)), blob_(blob), rows_(rows) {}

  arrow::Status Init() {
    IndexCursor in(&blob_, 0, blob_.length());
    ARROW_ASSIGN_OR_RAISE(version_, in.Byte());
    if (version_ != 1 && version_ != 2)
      return blob_.Error(fmt::format("bitmap index of version {}", version_), 0);
    ARROW_ASSIGN_OR_RAISE(int32_t rows, in.Count("row count"));
    if (rows != rows_)
      return blob_.Error(fmt::format("bitmap index of {} rows for a file of {}", rows, rows_), 1);
    ARROW_ASSIGN_OR_RAISE(value_count_, in.Count("value count"));
    ARROW_ASSIGN_OR_RAISE(uint8_t has_null, in.Byte());
    if (has_null != 0) {
      null_.emplace();
      ARROW_ASSIGN_OR_RAISE(null_->offset, in.BE32());
      if (version_ == 2) {
        ARROW_ASSIGN_OR_RAISE(null_->length, in.BE32());
      }
    }
    return version_ == 1 ? ReadEntries(&in) : ReadBlockIndex(&in);
  }

  arrow::Result<RowSelection> Evaluate(const IndexQuery& query) override {
    switch (query.op) {
      case IndexOp::kIn: {
        ARROW_ASSIGN_OR_RAISE(Roaring rows, RowsOf(query.keys));
        return RowSelection::Of(std::move(rows), rows_);
      }
      case IndexOp::kIsNull: {
        ARROW_ASSIGN_OR_RAISE(Roaring rows, NullRows());
        return RowSelection::Of(std::move(rows), rows_);
      }
      case IndexOp::kNotIn: {
        ARROW_ASSIGN_OR_RAISE(Roaring excluded, RowsOf(query.keys));
        ARROW_ASSIGN_OR_RAISE(Roaring nulls, NullRows());
        excluded.Or(nulls);
        excluded.Flip(static_cast<uint64_t>(rows_));
        return RowSelection::Of(std::move(excluded), rows_);
      }
      default: {
        // No value but NULL can be told from the order of bitmaps.
        ARROW_ASSIGN_OR_RAISE(Roaring rows, NullRows());
        rows.Flip(static_cast<uint64_t>(rows_));
        return RowSelection::Of(std::move(rows), rows_);
      }
    }
  }

 private:
  struct Entry {
    std::string text;
    int64_t number = 0;
    int32_t offset = 0;  ///< version 1: place; version 2: offset of the block
    IndexKey key() const { return {number, text}; }
  };

  arrow::Result<Entry> ReadEntry(IndexCursor* in) const {
    Entry entry;
    ARROW_ASSIGN_OR_RAISE(IndexKey key, form_.Read(in, &entry.text));
    entry.number = key.number;
    ARROW_ASSIGN_OR_RAISE(entry.offset, in->BE32());
    return entry;
  }

  arrow::Status ReadEntries(IndexCursor* in) {
    for (int32_t i = 0; i < value_count_; ++i) {
      ARROW_ASSIGN_OR_RAISE(Entry entry, ReadEntry(in));
      entries_.push_back(std::move(entry));
    }
    body_ = in->offset();
    // A bitmap ends where the next one begins.
    for (const Entry& entry : entries_) {
      if (entry.offset >= 0) starts_.push_back(entry.offset);
    }
    if (null_ && null_->offset >= 0) starts_.push_back(null_->offset);
    std::sort(starts_.begin(), starts_.end());
    return arrow::Status::OK();
  }

  arrow::Status ReadBlockIndex(IndexCursor* in) {
    ARROW_ASSIGN_OR_RAISE(int32_t blocks, in->Count("block count"));
    for (int32_t i = 0; i < blocks; ++i) {
      ARROW_ASSIGN_OR_RAISE(Entry entry, ReadEntry(in));
      const int32_t last = entries_.empty() ? -1 : entries_.back().offset;
      if (entry.offset <= last) return in->Error("blocks are not ascending");
      entries_.push_back(std::move(entry));
    }
    ARROW_ASSIGN_OR_RAISE(blocks_size_, in->Count("size of the blocks"));
    if (!entries_.empty() && entries_.back().offset >= blocks_size_)
      return in->Error("block beyond the end of the blocks");
    blocks_ = in->offset();
    if (blocks_size_ > in->remaining()) return in->Error("blocks beyond the end of the index");
    body_ = blocks_ + blocks_size_;
    return arrow::Status::OK();
  }

  arrow::Result<std::optional<Place>> Find(const IndexKey& key) const {
    return version_ == 1 ? FindEntry(key) : FindInBlock(key);
  }

  std::optional<Place> FindEntry(const IndexKey& key) const {
    for (const Entry& entry : entries_) {
      if (form_.Compare(entry.key(), key) == 0) return Place{entry.offset, -1};
    }
    return std::nullopt;
  }

  arrow::Result<std::optional<Place>> FindInBlock(const IndexKey& key) const {
    auto after = std::partition_point(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return form_.Compare(entry.key(), key) <= 0;
    });
    if (after == entries_.begin()) return std::nullopt;
    const int64_t begin = blocks_ + (after - 1)->offset;
    const int64_t end = after == entries_.end() ? body_ : blocks_ + after->offset;
    IndexCursor in(&blob_, begin, end);
    ARROW_ASSIGN_OR_RAISE(int32_t count, in.Count("value count of a block"));
    std::string text;
    for (int32_t i = 0; i < count; ++i) {
      ARROW_ASSIGN_OR_RAISE(IndexKey stored, form_.Read(&in, &text));
      Place place;
      ARROW_ASSIGN_OR_RAISE(place.offset, in.BE32());
      ARROW_ASSIGN_OR_RAISE(place.length, in.BE32());
      if (form_.Compare(stored, key) == 0) return place;
    }
    return std::nullopt;
  }

  arrow::Result<Roaring> RowsAt(Place place) const {
    if (place.offset < 0) {
      const int64_t row = -1 - int64_t{place.offset};
      if (row >= rows_) return blob_.Error(fmt::format("row {} of {}", row, rows_), 0);
      Roaring single;
      single.Add(static_cast<uint32_t>(row));
      return single;
    }
    int64_t length = place.length;
    if (version_ == 1) {
      auto next = std::upper_bound(starts_.begin(), starts_.end(), place.offset);
      const int64_t end = next == starts_.end() ? blob_.length() - body_ : *next;
      length = end - place.offset;
    }
    return ReadIndexBitmap(blob_, body_ + place.offset, length, rows_);
  }

  arrow::Result<Roaring> RowsOf(const std::vector<IndexKey>& keys) const {
    Roaring rows;
    for (const IndexKey& key : keys) {
      ARROW_ASSIGN_OR_RAISE(auto place, Find(key));
      if (!place) continue;
      ARROW_ASSIGN_OR_RAISE(Roaring found, RowsAt(*place));
      rows.Or(found);
    }
    return rows;
  }

  arrow::Result<Roaring> NullRows() const {
    if (!null_) return Roaring();
    return RowsAt(*null_);
  }

  KeyForm form_;
  IndexBlob blob_;
  int64_t rows_;
  int version_ = 0;
  int32_t value_count_ = 0;
  std::optional<Place> null_;
  std::vector<Entry> entries_;   ///< values, or first values of blocks
  std::vector<int32_t> starts_;  ///< version 1: of bitmaps, ascending
  int64_t blocks_ = 0;
  int32_t blocks_size_ = 0;
  int64_t body_ = 0;
};

class BitmapIndexType : public ColumnIndexType {
 public:
  std::string_view name() const override { return "bitmap"; }
  std::vector<std::string_view> option_names() const override {
    return {"version", "index-block-size"};
  }
  bool exact() const override { return true; }
  bool Supports(const DataType& type) const override {
    return type.root() != TypeRoot::kDecimal && !type.IsBytes() && KeyForm::Make(type).ok();
  }

  arrow::Result<std::unique_ptr<ColumnIndexWriter>> CreateWriter(
      const KeyForm& form, const IndexOptions& options) const override {
    ARROW_ASSIGN_OR_RAISE(int64_t version, IntegerOption(options, "version", 2, 1, 2));
    ARROW_ASSIGN_OR_RAISE(int64_t block,
                          SizeOption(options, "index-block-size", kDefaultBlockBytes));
    return std::make_unique<BitmapWriter>(form, static_cast<int>(version), block);
  }

  arrow::Result<std::unique_ptr<ColumnIndexReader>> Open(const KeyForm& form, IndexBlob blob,
                                                         int64_t row_count) const override {
    auto reader = std::make_unique<BitmapReader>(form, blob, row_count);
    ARROW_RETURN_NOT_OK(reader->Init());
    return std::unique_ptr<ColumnIndexReader>(std::move(reader));
  }
};

}  // namespace

const ColumnIndexType& BitmapIndex() {
  static const BitmapIndexType type;
  return type;
}

}  // namespace kelda
