#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/type_fwd.h>

#include "kelda/avro/schema.h"
#include "kelda/base/row_ranges.h"

namespace kelda::avro {

class BlockCodec;
class RecordDecoder;

struct ReadOptions {
  /// What the batches shall look like; fields resolve by name at every record level (spec 01 §4.6):
  /// a nullable field that the file lacks is null, fields that are not here are skipped. Without
  /// it: ToArrowSchema of the file.
  std::shared_ptr<arrow::Schema> output;
  /// Instead of `output`: those of these fields that the file has at its top level.
  std::shared_ptr<arrow::Schema> wanted_if_present;
  /// Only these fields of `output` (or of the file): dotted paths, see Projection. An empty list
  /// reads no column but counts rows.
  std::optional<std::vector<std::string>> projection;
  /// Join blocks until a batch has this many rows. 0: one batch per block.
  int64_t batch_rows_min = 0;
  /// Cut blocks so that no batch has more rows. 0: no limit.
  int64_t batch_rows_max = 0;
  /// Rows wanted: blocks that hold none of them are skipped as a whole, other rows come along.
  /// Null: all.
  std::shared_ptr<const RowRanges> rows;
  /// A block that decompresses to more is refused.
  int64_t block_size_max_bytes = int64_t{1} << 30;
  /// So is a batch with more value slots; few bytes can claim many (nulls of wide records).
  int64_t batch_values_max = int64_t{1} << 28;
  arrow::MemoryPool* pool = nullptr;  ///< null: the default pool
};

/// What the heads of the blocks of a file say.
struct BlockSummary {
  int64_t blocks = 0;
  int64_t rows = 0;
  int64_t wanted_blocks = 0;  ///< with rows of ReadOptions::rows
  int64_t wanted_rows = 0;    ///< in those blocks
  int64_t wanted_bytes = 0;   ///< stored
};

/// Reads an Avro object container file block by block into record batches. The bytes may be
/// hostile: what breaks the format is Corruption `corrupt Avro file '<name>' at offset N: ...`;
/// codecs and types that are not built are NotImplemented by name. After an error every call gives
/// the same error. Not thread-safe.
class AvroFileReader {
 public:
  /// `name` is for error texts.
  static arrow::Result<std::unique_ptr<AvroFileReader>> Open(std::shared_ptr<arrow::Buffer> file,
                                                             std::string name,
                                                             ReadOptions options = {});
  static arrow::Result<std::unique_ptr<AvroFileReader>> Open(
      std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name,
      ReadOptions options = {});
  ~AvroFileReader();

  /// Next batch, null at the end of the file. Blocks without rows give no batch.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next();

  /// Position in the file of the first row of the last batch; the others follow it in the file.
  int64_t first_row() const { return batch_first_row_; }

  /// Goes through the heads of all blocks and checks the markers between them; the blocks are not
  /// read. To be called before the first Next.
  arrow::Result<BlockSummary> SummarizeBlocks();

  /// All that is left, as one table of the batches.
  arrow::Result<std::shared_ptr<arrow::Table>> ReadAll();

  /// Schema of the batches.
  const std::shared_ptr<arrow::Schema>& schema() const { return output_; }
  const Schema& file_schema() const { return *file_schema_; }
  /// Header entries: avro.schema, avro.codec and what else the writer put there.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& codec_name() const { return codec_name_; }

 private:
  class Source;

  AvroFileReader();
  static arrow::Result<std::unique_ptr<AvroFileReader>> Open(std::unique_ptr<Source> source,
                                                             std::string name, ReadOptions options);
  arrow::Status ReadHeader();
  arrow::Status Prepare();
  struct BlockHead;
  arrow::Result<BlockHead> ParseBlockHead(std::span<const uint8_t> bytes, int64_t offset) const;
  arrow::Result<bool> NextBlock();
  arrow::Status ReadBlock(const BlockHead& head);
  arrow::Status DecodeError(const arrow::Status& status, int64_t failed_offset) const;
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBatch();
  arrow::Status Corrupt(int64_t offset, std::string_view text) const;

  std::unique_ptr<Source> source_;
  std::string name_;
  ReadOptions options_;
  std::map<std::string, std::string> metadata_;
  std::string codec_name_;
  std::string sync_marker_;
  SchemaPtr file_schema_;
  std::shared_ptr<arrow::Schema> output_;
  std::unique_ptr<BlockCodec> codec_;
  std::unique_ptr<RecordDecoder> decoder_;
  int64_t offset_ = 0;       ///< of the next block
  int64_t data_offset_ = 0;  ///< of the bytes of the block being decoded
  int64_t next_row_ = 0;     ///< first row of the next block
  int64_t batch_first_row_ = 0;
  arrow::Status failure_;
};

}  // namespace kelda::avro
