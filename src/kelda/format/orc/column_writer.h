#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/array.h>

#include "kelda/format/orc/orc_metadata.h"
#include "kelda/format/orc/orc_options.h"
#include "kelda/format/orc/orc_statistics.h"
#include "kelda/format/orc/run_encoder.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// The streams of a stripe as they go into the file.
struct OrcStripeParts {
  struct Stream {
    OrcStreamKind kind;
    uint32_t column;
    std::string bytes;
  };
  std::vector<Stream> indexes;
  std::vector<Stream> data;
  std::vector<OrcColumnEncoding> encodings;  ///< per column
  std::vector<std::string> statistics;       ///< per column
};

/// Encodes one column, with those below it. Rows come in row groups, row groups make stripes. One
/// thread at a time.
class ColumnWriter {
 public:
  ColumnWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column,
               OrcStatistics statistics);
  virtual ~ColumnWriter() = default;

  /// Add rows to the row group. Rows whose parent is null are left out.
  arrow::Status Append(const arrow::Array& values);
  /// Encode the row group.
  arrow::Status FinishRowGroup();
  /// Hand over the streams of the stripe and start the next one. REQUIRES: the row group is
  /// finished.
  arrow::Status FinishStripe(OrcStripeParts* parts);
  /// Bytes that the stripe would have now, about.
  int64_t EstimatedBytes() const;
  int64_t BufferedBytes() const;
  /// Statistics of the whole file, of this column and those below it, in order.
  void CollectFileStatistics(std::vector<std::string>* out) const;
  const OrcStatistics& file_statistics() const { return file_statistics_; }
  /// Writers of the columns right below.
  const std::vector<std::unique_ptr<ColumnWriter>>& children() const { return children_; }

 protected:
  using Positions = std::vector<std::vector<uint64_t>>;  ///< per row group

  /// The values of rows [first, first + n), none of them null.
  virtual arrow::Status AppendValues(const arrow::Array& values, int64_t first, int64_t n) = 0;
  /// Encode the values of the row group and count them in `group_`; `positions` is where its
  /// streams stand.
  virtual arrow::Status EncodeRowGroup(std::vector<uint64_t>* positions) = 0;
  /// Last chance to add positions that are only known now.
  virtual arrow::Status BeforeStripeEnds(Positions*) { return arrow::Status::OK(); }
  virtual arrow::Status TakeStreams(std::vector<OrcStripeParts::Stream>* out) = 0;
  virtual OrcColumnEncoding Encoding() const { return {OrcEncoding::kDirectV2, 0}; }
  virtual int64_t StreamBytes() const = 0;
  virtual int64_t MemoryBytes() const = 0;
  virtual int32_t pad() const { return 0; }

  const OrcWriteSettings& settings_;
  OrcCodec* const codec_;
  const uint32_t column_;
  OrcStatistics group_;
  std::vector<std::unique_ptr<ColumnWriter>> children_;

 private:
  arrow::Status StartPresent();
  std::string RowIndex() const;

  BitEncoder present_;
  bool has_nulls_ = false;           ///< in the stripe
  int64_t rows_ = 0;                 ///< of the row group
  std::vector<int64_t> group_rows_;  ///< of the finished row groups of the stripe
  Positions present_positions_;
  Positions positions_;
  std::vector<std::string> group_statistics_;
  OrcStatistics stripe_statistics_;
  OrcStatistics file_statistics_;
};

/// The writer of a column and those below it. `next` is the number of the column and is moved
/// behind them.
arrow::Result<std::unique_ptr<ColumnWriter>> MakeColumnWriter(
    const OrcWriteSettings& settings, OrcCodec* codec, const DataType& type,
    const std::shared_ptr<arrow::DataType>& arrow_type, const std::string& name, uint32_t* next);

/// The root: a struct of all columns.
arrow::Result<std::unique_ptr<ColumnWriter>> MakeRootWriter(const OrcWriteSettings& settings,
                                                            OrcCodec* codec,
                                                            const std::vector<DataField>& fields,
                                                            const arrow::Schema& schema);

// For the writers.
std::unique_ptr<ColumnWriter> MakeLeafWriter(const OrcWriteSettings& settings, OrcCodec* codec,
                                             const DataType& type,
                                             const std::shared_ptr<arrow::DataType>& arrow_type,
                                             const std::string& name, uint32_t column);
std::unique_ptr<ColumnWriter> MakeTextWriter(const OrcWriteSettings& settings, OrcCodec* codec,
                                             const DataType& type,
                                             const std::shared_ptr<arrow::DataType>& arrow_type,
                                             const std::string& name, uint32_t column);

}  // namespace kelda
