#include "kelda/sql/scan/parquet_footer.h"

#include <parquet_reader.hpp>

namespace kelda::sql {

int64_t ParquetRowCount(const duckdb::BaseFileReader& reader) {
  return reader.Cast<duckdb::ParquetReader>().GetFileMetadata()->num_rows;
}

bool ParquetCodecsSupported(const duckdb::BaseFileReader& reader) {
  using duckdb_parquet::CompressionCodec;
  const auto& metadata = *reader.Cast<duckdb::ParquetReader>().GetFileMetadata();
  for (const auto& group : metadata.row_groups) {
    for (const auto& column : group.columns) {
      const auto codec = column.meta_data.codec;
      if (codec == CompressionCodec::LZ4 || codec == CompressionCodec::LZO) return false;
    }
  }
  return true;
}

}  // namespace kelda::sql
