#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/io/interfaces.h>

#include "kelda/base/cancellation.h"
#include "kelda/format/orc/orc_codec.h"
#include "kelda/format/orc/orc_metadata.h"
#include "kelda/io/file_io.h"

namespace kelda {

/// An open ORC file and its tail: postscript, footer and, when asked for, stripe statistics. One
/// thread at a time.
class OrcFile {
 public:
  /// `size_bytes` < 0: not known.
  static arrow::Result<std::unique_ptr<OrcFile>> Open(FileIO& io, const std::string& path,
                                                      int64_t size_bytes,
                                                      const CancellationToken& token);

  const std::string& path() const { return path_; }
  const OrcPostScript& post_script() const { return post_script_; }
  const OrcFooter& footer() const { return footer_; }
  OrcCodec* codec() { return codec_.get(); }

  /// Bytes of the file; result i belongs to ranges[i].
  arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const std::vector<ByteRange>& ranges);
  arrow::Result<std::vector<OrcStripeFooter>> ReadStripeFooters(const std::vector<size_t>& stripes);
  /// result[stripe][column]; empty when the file has none. The views borrow this file.
  arrow::Result<std::vector<std::vector<std::string_view>>> ReadStripeStatistics();

 private:
  OrcFile(std::string path, CancellationToken token)
      : path_(std::move(path)), token_(std::move(token)) {}
  arrow::Status ReadTail();
  arrow::Status Named(const arrow::Status& status, std::string_view part) const;

  const std::string path_;
  const CancellationToken token_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  int64_t size_ = 0;
  ByteRange tail_range_;  ///< the end of the file, which was read at once
  std::shared_ptr<arrow::Buffer> tail_;
  int64_t metadata_offset_ = 0;
  OrcPostScript post_script_;
  std::string footer_bytes_;
  OrcFooter footer_;
  std::string metadata_bytes_;
  std::unique_ptr<OrcCodec> codec_;
};

}  // namespace kelda
