#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <duckdb/common/types/data_chunk.hpp>
#include <duckdb/main/client_context.hpp>

#include "apps/kelda/output.h"

namespace kelda::cli {

enum class Format { kBox, kCsv, kTsv, kJson, kJsonl, kMarkdown, kLine };

std::optional<Format> ParseFormat(std::string_view name);

/// Writes the rows of one result. All but kBox write as the rows come and keep none.
class ResultWriter {
 public:
  static std::unique_ptr<ResultWriter> Make(Format format, duckdb::ClientContext& context,
                                            Output* output);
  virtual ~ResultWriter() = default;

  virtual void Begin(const duckdb::vector<std::string>& names,
                     const duckdb::vector<duckdb::LogicalType>& types) = 0;
  virtual void Write(duckdb::DataChunk& chunk) = 0;
  virtual void End() = 0;
};

/// The writer of kBox, which has to see all rows before it knows how wide its columns are.
std::unique_ptr<ResultWriter> MakeBoxWriter(duckdb::ClientContext& context, Output* output);

}  // namespace kelda::cli
