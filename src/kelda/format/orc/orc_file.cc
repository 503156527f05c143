#include "kelda/format/orc/orc_file.h"

#include <algorithm>

#include "kelda/io/range_reads.h"

namespace kelda {
namespace {

/// The end of a file that is read first; small files come with it as a whole.
constexpr int64_t kTailBytes = 64 << 10;
constexpr int64_t kFooterBytesMax = 256 << 20;

}  // namespace

arrow::Status OrcFile::Named(const arrow::Status& status, std::string_view part) const {
  return WithContext(status, fmt::format("{}: {}", path_, part));
}

arrow::Result<std::unique_ptr<OrcFile>> OrcFile::Open(FileIO& io, const std::string& path,
                                                      int64_t size_bytes,
                                                      const CancellationToken& token) {
  std::unique_ptr<OrcFile> file(new OrcFile(path, token));
  ARROW_ASSIGN_OR_RAISE(file->file_, io.OpenInput(path));
  ARROW_ASSIGN_OR_RAISE(file->size_, file->file_->GetSize());
  if (size_bytes >= 0 && file->size_ != size_bytes) {
    return Corruption("{}: the file has {} bytes, its metadata says {}", path, file->size_,
                      size_bytes);
  }
  ARROW_RETURN_NOT_OK(file->ReadTail());
  return file;
}

arrow::Status OrcFile::ReadTail() {
  constexpr int64_t kHeaderBytes = 3;
  if (size_ <= kHeaderBytes) return Corruption("{}: {} bytes are no ORC file", path_, size_);
  tail_range_ = {std::max<int64_t>(size_ - kTailBytes, 0), std::min(size_, kTailBytes)};
  ARROW_ASSIGN_OR_RAISE(auto tails, ReadFileRanges(*file_, path_, {tail_range_}));
  tail_ = tails[0];
  const std::string_view tail(*tail_);
  const int64_t post_length = static_cast<uint8_t>(tail.back());
  const int64_t post_offset = size_ - 1 - post_length;
  if (post_offset < kHeaderBytes) {
    return Corruption("{}: byte offset {}: a postscript of {} bytes", path_, size_ - 1,
                      post_length);
  }
  const std::string part = fmt::format("postscript at byte offset {}", post_offset);
  auto post = ParsePostScript(tail.substr(tail.size() - 1 - static_cast<size_t>(post_length),
                                          static_cast<size_t>(post_length)));
  ARROW_RETURN_NOT_OK(Named(post.status(), part));
  post_script_ = *post;
  const auto room = static_cast<uint64_t>(post_offset - kHeaderBytes);
  if (post_script_.footer_length > room ||
      post_script_.metadata_length > room - post_script_.footer_length) {
    return Named(Corruption("footer or statistics are longer than the file"), part);
  }
  auto codec = OrcCodec::Make(post_script_.compression, post_script_.block_size);
  ARROW_RETURN_NOT_OK(Named(codec.status(), part));
  codec_ = std::move(*codec);
  const auto footer_length = static_cast<int64_t>(post_script_.footer_length);
  const int64_t footer_offset = post_offset - footer_length;
  metadata_offset_ = footer_offset - static_cast<int64_t>(post_script_.metadata_length);
  const std::string footer_part = fmt::format("footer at byte offset {}", footer_offset);
  ARROW_ASSIGN_OR_RAISE(auto bytes, ReadRanges({{footer_offset, footer_length}}));
  auto footer_bytes = codec_->DecompressAll(std::string_view(*bytes[0]), kFooterBytesMax);
  ARROW_RETURN_NOT_OK(Named(footer_bytes.status(), footer_part));
  footer_bytes_ = std::move(*footer_bytes);
  auto footer = ParseFooter(footer_bytes_, static_cast<uint64_t>(metadata_offset_));
  ARROW_RETURN_NOT_OK(Named(footer.status(), footer_part));
  footer_ = std::move(*footer);
  return arrow::Status::OK();
}

arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> OrcFile::ReadRanges(
    const std::vector<ByteRange>& ranges) {
  std::vector<std::shared_ptr<arrow::Buffer>> out(ranges.size());
  std::vector<ByteRange> missing;
  for (const ByteRange& range : ranges) {
    if (range.offset < tail_range_.offset) missing.push_back(range);
  }
  RangeReadOptions options;
  options.token = token_;
  ARROW_ASSIGN_OR_RAISE(auto read, ReadFileRanges(*file_, path_, missing, options));
  size_t next = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].offset < tail_range_.offset) {
      out[i] = std::move(read[next++]);
    } else {
      if (ranges[i].offset > size_ || ranges[i].length > size_ - ranges[i].offset) {
        return Corruption("{}: {} bytes wanted at byte offset {}, the file has {}", path_,
                          ranges[i].length, ranges[i].offset, size_);
      }
      out[i] = arrow::SliceBuffer(tail_, ranges[i].offset - tail_range_.offset, ranges[i].length);
    }
  }
  return out;
}

arrow::Result<std::vector<OrcStripeFooter>> OrcFile::ReadStripeFooters(
    const std::vector<size_t>& stripes) {
  std::vector<ByteRange> ranges;
  for (size_t i : stripes) {
    const OrcStripe& stripe = footer_.stripes[i];
    ranges.push_back(
        {static_cast<int64_t>(stripe.offset + stripe.index_length + stripe.data_length),
         static_cast<int64_t>(stripe.footer_length)});
  }
  ARROW_ASSIGN_OR_RAISE(auto buffers, ReadRanges(ranges));
  std::vector<OrcStripeFooter> footers;
  for (size_t k = 0; k < stripes.size(); ++k) {
    const std::string part =
        fmt::format("footer of stripe {} at byte offset {}", stripes[k], ranges[k].offset);
    auto bytes = codec_->DecompressAll(std::string_view(*buffers[k]), kFooterBytesMax);
    ARROW_RETURN_NOT_OK(Named(bytes.status(), part));
    auto footer = ParseStripeFooter(*bytes, footer_.stripes[stripes[k]], footer_.types.size());
    ARROW_RETURN_NOT_OK(Named(footer.status(), part));
    footers.push_back(std::move(*footer));
  }
  return footers;
}

arrow::Result<std::vector<std::vector<std::string_view>>> OrcFile::ReadStripeStatistics() {
  const auto length = static_cast<int64_t>(post_script_.metadata_length);
  if (length == 0) return std::vector<std::vector<std::string_view>>{};
  const std::string part = fmt::format("stripe statistics at byte offset {}", metadata_offset_);
  ARROW_ASSIGN_OR_RAISE(auto buffers, ReadRanges({{metadata_offset_, length}}));
  auto bytes = codec_->DecompressAll(std::string_view(*buffers[0]), kFooterBytesMax);
  ARROW_RETURN_NOT_OK(Named(bytes.status(), part));
  metadata_bytes_ = std::move(*bytes);
  auto statistics = ParseStripeStatistics(metadata_bytes_, footer_.types.size());
  ARROW_RETURN_NOT_OK(Named(statistics.status(), part));
  return statistics;
}

}  // namespace kelda
