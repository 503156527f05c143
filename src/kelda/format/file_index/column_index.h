#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/array.h>

#include "kelda/format/file_index/index_input.h"
#include "kelda/format/file_index/index_key.h"
#include "kelda/format/file_index/row_selection.h"

namespace kelda {

/// What a leaf of a predicate asks an index of its column.
enum class IndexOp {
  kIn,     ///< equal to one of the keys
  kNotIn,  ///< not null, equal to none of them
  kLess,   ///< the comparisons have one key
  kLessEq,
  kGreater,
  kGreaterEq,
  kIsNull,
  kNotNull,
  kStartsWith,
};

/// A question in keys. NULL literals, -0.0, NaN and keys that several values share are settled
/// before (MakeIndexQuery), so that an index compares keys only.
struct IndexQuery {
  IndexOp op = IndexOp::kNotNull;
  std::vector<IndexKey> keys;
};

/// Collects the values of one column of one file. One thread at a time.
class ColumnIndexWriter {
 public:
  virtual ~ColumnIndexWriter() = default;
  /// The next rows. REQUIRES: the Arrow type of arrow_mapping.h for the column's type.
  virtual arrow::Status Write(const arrow::Array& array) = 0;
  virtual int64_t BufferedBytes() const = 0;
  /// The bytes of the index. Called once.
  virtual arrow::Result<std::string> Finish() = 0;
};

/// Answers from the bytes of one index, which may be hostile. One thread at a time.
class ColumnIndexReader {
 public:
  virtual ~ColumnIndexReader() = default;
  /// Rows that may satisfy `query`: a superset.
  virtual arrow::Result<RowSelection> Evaluate(const IndexQuery& query) = 0;
};

/// Options of one index without their prefix: `fpp`, `items`, ...
using IndexOptions = std::map<std::string, std::string>;

/// One kind of file index (spec 01 §7.5–7.8). Stateless; thread-safe.
class ColumnIndexType {
 public:
  virtual ~ColumnIndexType() = default;
  virtual std::string_view name() const = 0;
  /// Options that it knows.
  virtual std::vector<std::string_view> option_names() const = 0;
  /// Whether values of `type` can be indexed at all.
  virtual bool Supports(const DataType& type) const = 0;
  /// True: the selection for IN, NOT IN and null tests holds no row too many.
  virtual bool exact() const = 0;
  /// Invalid names a wrong option. REQUIRES: Supports(form.type()).
  virtual arrow::Result<std::unique_ptr<ColumnIndexWriter>> CreateWriter(
      const KeyForm& form, const IndexOptions& options) const = 0;
  /// `row_count` is that of the data file.
  virtual arrow::Result<std::unique_ptr<ColumnIndexReader>> Open(const KeyForm& form,
                                                                 IndexBlob blob,
                                                                 int64_t row_count) const = 0;
};

const ColumnIndexType& BloomFilterIndex();
const ColumnIndexType& BitmapIndex();
const ColumnIndexType& BitSliceIndex();
const ColumnIndexType& RangeBitmapIndex();

/// In the order in which a column's indexes are asked: cheapest first.
const std::vector<const ColumnIndexType*>& ColumnIndexTypes();
/// Null for a type that is not known.
const ColumnIndexType* FindColumnIndexType(std::string_view name);

}  // namespace kelda
