#include "kelda/format/file_index/index_bitmap.h"

namespace kelda {

arrow::Result<Roaring> ParseIndexBitmap(const IndexBlob& blob, std::string_view bytes,
                                        int64_t offset, int64_t row_count, size_t* consumed) {
  auto parsed = Roaring::Parse(bytes, "bitmap", consumed);
  if (!parsed.ok()) return blob.Error(parsed.status().message(), offset);
  if (parsed->CountRange(static_cast<uint64_t>(row_count), uint64_t{1} << 32) != 0)
    return blob.Error(fmt::format("bitmap with rows beyond the {} of the file", row_count), offset);
  return parsed;
}

arrow::Result<Roaring> ReadIndexBitmap(const IndexBlob& blob, int64_t offset, int64_t length,
                                       int64_t row_count) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, blob.Read(offset, length));
  size_t consumed = 0;
  ARROW_ASSIGN_OR_RAISE(Roaring rows, ParseIndexBitmap(blob, std::string_view(*buffer), offset,
                                                       row_count, &consumed));
  if (consumed != static_cast<size_t>(length))
    return blob.Error(fmt::format("bitmap of {} bytes in {}", consumed, length), offset);
  return rows;
}

}  // namespace kelda
