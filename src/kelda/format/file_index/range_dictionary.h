#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelda/format/file_index/index_key.h"

namespace kelda {

/// Bytes of the dictionary of `keys`, which ascend, in chunks of up to `chunk_bytes` of keys beside
/// the first one (spec 01 §7.8).
arrow::Result<std::string> EncodeRangeDictionary(const KeyForm& form,
                                                 const std::vector<IndexKey>& keys,
                                                 int64_t chunk_bytes);

/// Looks up values in the dictionary of a range-bitmap index: the chunk headers are held, the keys
/// of one chunk read when asked for.
class RangeDictionary {
 public:
  struct Found {
    int32_t code = 0;    ///< of the first value that is not below the key
    bool exact = false;  ///< it is the key
  };

  /// The dictionary in `length` bytes at `start` of the blob, of `cardinality` values.
  static arrow::Result<RangeDictionary> Open(const KeyForm& form, const IndexBlob& blob,
                                             int64_t start, int64_t length, int32_t cardinality);
  arrow::Result<Found> Find(const IndexKey& key) const;

 private:
  struct Chunk {
    std::string text;    ///< bytes of the first key
    int64_t number = 0;  ///< first key
    int32_t code = 0;
    int64_t keys_offset = 0;  ///< in the blob
    int32_t count = 0;        ///< of further keys
    int32_t offsets_bytes = 0;
    int32_t keys_bytes = 0;
    IndexKey first() const { return {number, text}; }
  };

  RangeDictionary(const KeyForm& form, const IndexBlob& blob) : form_(form), blob_(blob) {}
  arrow::Status ReadChunks(int64_t start, int64_t length, int32_t cardinality);
  arrow::Result<Chunk> ReadChunk(IndexCursor* in, int64_t keys, int64_t end) const;
  /// Further key `i` of the chunk.
  arrow::Result<IndexKey> KeyAt(const Chunk& chunk, int32_t i, std::string* text) const;

  KeyForm form_;
  IndexBlob blob_;
  std::vector<Chunk> chunks_;
};

}  // namespace kelda
