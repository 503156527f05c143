#pragma once

#include <memory>
#include <vector>

#include <parquet/schema.h>

#include "kelda/format/file_format.h"

namespace kelda {

/// Whether a group that is read as VARIANT is a shredded one (spec 01 §6.6).
bool IsShreddedVariant(const parquet::schema::Node& node);

/// Type of the group of a shredded VARIANT, as the file has it: ROW<metadata, value, typed_value>
/// with the declared types in it; see RebuildVariants. Parts of unknown form are refused.
arrow::Result<DataType> ShreddedTypeOf(const parquet::schema::GroupNode& group);

/// A writer that shreds the VARIANT columns of a file. `forms` has a type for each column: its
/// ShreddedType, or nothing for columns that are written as they come.
std::unique_ptr<FormatWriter> MakeShreddingWriter(std::unique_ptr<FormatWriter> writer,
                                                  std::vector<std::optional<DataType>> forms);

}  // namespace kelda
