#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/array/data.h>

#include "kelda/format/orc/in_stream.h"
#include "kelda/format/orc/orc_metadata.h"
#include "kelda/format/orc/orc_time.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// Which of a number of rows have a value.
struct OrcValidity {
  std::shared_ptr<arrow::Buffer> bits;  ///< null: all
  int64_t valid = 0;                    ///< their number
};

/// Row index of one column in one stripe.
struct OrcRowIndex {
  std::vector<OrcIndexEntry> entries;
  std::shared_ptr<const std::string> bytes;  ///< what the entries borrow

  size_t size() const { return entries.size(); }
  const OrcIndexEntry& operator[](size_t group) const { return entries[group]; }
};
using OrcRowIndexes = std::map<uint32_t, OrcRowIndex>;

/// What the readers of a stripe's columns are made from.
struct OrcStripeSource {
  std::string path;  ///< of the file, for errors
  const std::vector<OrcType>* types = nullptr;
  const OrcStripeFooter* footer = nullptr;
  OrcCodec* codec = nullptr;
  std::shared_ptr<const OrcZone> zone;  ///< of the writer
  /// Fetched parts of the streams, by index into footer->streams.
  std::map<size_t, std::vector<OrcPiece>> pieces;

  /// The stream, or null when the column has none of this kind.
  std::unique_ptr<InStream> Open(uint32_t column, OrcStreamKind kind) const;
};

/// Reads one column of a stripe into Arrow arrays, nested ones with their children. One thread at a
/// time.
class ColumnReader {
 public:
  virtual ~ColumnReader() = default;
  /// The next `rows` rows. Rows that are null in `parent` are not in the file.
  virtual arrow::Result<std::shared_ptr<arrow::ArrayData>> Read(int64_t rows,
                                                                const OrcValidity& parent) = 0;
  /// Go to the first row of a row group.
  virtual arrow::Status Seek(const OrcRowIndexes& indexes, size_t group) = 0;
};

/// A reader of file column `column` as values of `wanted`, in Arrow form `type`. Members of a ROW
/// are matched by name (spec 01 §2.7); `column` < 0: the file lacks it, all is null.
arrow::Result<std::unique_ptr<ColumnReader>> MakeColumnReader(
    const OrcStripeSource& source, const DataType& wanted,
    const std::shared_ptr<arrow::DataType>& type, int64_t column, const std::string& name);

/// Child of struct `parent` that is named `name`; -1 when there is none.
int64_t FindOrcChild(const std::vector<OrcType>& types, uint32_t parent, const std::string& name);

/// Columns, numbered as in the file, whose streams a reader of `wanted` takes.
void CollectOrcColumns(const std::vector<OrcType>& types, const DataType& wanted, uint32_t column,
                       std::vector<uint32_t>* out);

// For the readers.

/// Common part: which column it is and which rows have values.
class PresentReader : public ColumnReader {
 public:
  PresentReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type,
                uint32_t column, bool nullable);
  ~PresentReader() override;

  arrow::Status Seek(const OrcRowIndexes& indexes, size_t group) override;

 protected:
  arrow::Result<OrcValidity> ReadPresent(int64_t rows, const OrcValidity& parent);
  /// Streams behind PRESENT in the order of their positions.
  virtual arrow::Status SeekStreams(OrcPositions* positions) = 0;
  /// Validity buffer of an array: left out when only rows without parent are null and the type is
  /// NOT NULL.
  std::shared_ptr<arrow::Buffer> BitsOf(const OrcValidity& own, const OrcValidity& parent) const;
  std::shared_ptr<arrow::ArrayData> MakeData(
      int64_t rows, const OrcValidity& own, const OrcValidity& parent,
      std::vector<std::shared_ptr<arrow::Buffer>> buffers) const;
  arrow::Status Error(std::string_view what) const;

  const std::shared_ptr<arrow::DataType> type_;
  const uint32_t column_;
  const std::string name_;

 private:
  const bool nullable_;
  std::unique_ptr<class BitDecoder> present_;
};

/// Reader of a column without children.
arrow::Result<std::unique_ptr<ColumnReader>> MakeLeafReader(
    const OrcStripeSource& source, const DataType& wanted,
    const std::shared_ptr<arrow::DataType>& type, uint32_t column, const std::string& name);

/// Text and binary columns.
std::unique_ptr<ColumnReader> MakeTextReader(const OrcStripeSource& source, const DataType& wanted,
                                             const std::shared_ptr<arrow::DataType>& type,
                                             uint32_t column, bool trim);

/// Move the `valid` values of `width` bytes at the front of `values` to the rows that `bits` marks;
/// the others become zero.
void SpreadValues(uint8_t* values, int width, int64_t rows, int64_t valid, const uint8_t* bits);

}  // namespace kelda
