#pragma once

#include <cstdint>

#include "duckdb/common/multi_file/base_file_reader.hpp"

namespace kelda::sql {

/// What the footer of a Parquet file that DuckDB's reader opened says. REQUIRES: `reader` is
/// DuckDB's ParquetReader.
int64_t ParquetRowCount(const duckdb::BaseFileReader& reader);
/// Whether DuckDB can decompress every column; it has no codec for Hadoop's framed LZ4 and for LZO.
bool ParquetCodecsSupported(const duckdb::BaseFileReader& reader);

}  // namespace kelda::sql
