#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelda/base/cancellation.h"
#include "kelda/format/file_format.h"
#include "kelda/index/deletion_vector_file.h"
#include "kelda/types/predicate.h"

namespace kelda {

/// Which of the rows that `inner` makes come out, and which of its columns.
struct Selection {
  DeletionVectorPtr deleted;  ///< positions of `inner`; null: none
  PredicatePtr filter;        ///< over the columns of `inner`; null: all rows
  int output_columns = 0;     ///< the first ones
  CancellationToken token;
};

/// Reader of the selected rows of `inner`; `inner` itself when there is nothing to leave out.
std::unique_ptr<FormatReader> SelectRows(std::unique_ptr<FormatReader> inner, Selection selection);

}  // namespace kelda
