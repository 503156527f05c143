#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kelda/format/file_index/index_input.h"

namespace kelda {

/// One index of a container. `bytes` empty = an index that was never fed a row.
struct ContainedIndex {
  std::string column;  ///< `col`, or `col[key]` for a key of a MAP
  std::string type;
  std::optional<std::string> bytes;
};

/// Bytes of a container (spec 01 §7.4), columns and their indexes in the order given. Indexes of
/// one column must follow each other.
arrow::Result<std::string> EncodeIndexContainer(const std::vector<ContainedIndex>& indexes);

/// The head of a container: which indexes there are and where.
class IndexContainer {
 public:
  struct Place {
    std::string column;
    std::string type;
    bool fed = true;  ///< false: start -1, an index without rows
    int64_t start = 0;
    int64_t length = 0;
  };

  static arrow::Result<IndexContainer> Open(std::unique_ptr<IndexInput> input);
  /// All indexes, in the order of the container.
  const std::vector<Place>& places() const { return places_; }
  IndexBlob Blob(const Place& place) const {
    return IndexBlob(input_.get(), place.start, place.length);
  }
  const std::string& name() const { return input_->name(); }

 private:
  std::unique_ptr<IndexInput> input_;
  std::vector<Place> places_;
};

/// Java's modified UTF-8 with its 16-bit length (DataOutput.writeUTF). Invalid beyond 65535 bytes
/// or if `text` is no UTF-8.
arrow::Status AppendJavaUtf(std::string_view text, std::string* out);

}  // namespace kelda
