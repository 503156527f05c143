#include <sys/ioctl.h>
#include <unistd.h>

#include <duckdb/common/box_renderer.hpp>
#include <duckdb/common/types/column/column_data_collection.hpp>
#include <duckdb/storage/buffer_manager.hpp>

#include "apps/kelda/result_writer.h"

namespace kelda::cli {
namespace {

/// Rows that a box shows, the first and the last ones of more.
constexpr duckdb::idx_t kTerminalRowsMax = 40;
constexpr duckdb::idx_t kFileRowsMax = 10000;

class OutputRenderer : public duckdb::BaseResultRenderer {
 public:
  explicit OutputRenderer(Output* output) : output_(*output) {}
  void RenderLayout(const std::string& text) override { output_.Write(text); }
  void RenderColumnName(const std::string& text) override { output_.Write(text); }
  void RenderType(const std::string& text) override { output_.Write(text); }
  void RenderValue(const std::string& text, const duckdb::LogicalType&) override {
    output_.Write(text);
  }
  void RenderNull(const std::string& text, const duckdb::LogicalType&) override {
    output_.Write(text);
  }
  void RenderFooter(const std::string& text) override { output_.Write(text); }

 private:
  Output& output_;
};

class BoxWriter : public ResultWriter {
 public:
  BoxWriter(duckdb::ClientContext& context, Output* output) : context_(context), output_(*output) {}

  void Begin(const duckdb::vector<std::string>& names,
             const duckdb::vector<duckdb::LogicalType>& types) override {
    names_ = names;
    // Lives in the buffer manager: many rows go to disk, not to memory.
    rows_ = std::make_unique<duckdb::ColumnDataCollection>(
        duckdb::BufferManager::GetBufferManager(context_), types);
  }

  void Write(duckdb::DataChunk& chunk) override { rows_->Append(chunk); }

  void End() override {
    duckdb::BoxRendererConfig config;
    bool terminal = output_.is_terminal();
    config.max_rows = terminal ? kTerminalRowsMax : kFileRowsMax;
    config.max_width = 1 << 20;
    winsize size = {};
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
      config.max_width = size.ws_col;
    config.null_value = "NULL";
    OutputRenderer renderer(&output_);
    duckdb::BoxRenderer(config).Render(context_, names_, *rows_, renderer);
  }

 private:
  duckdb::ClientContext& context_;
  Output& output_;
  duckdb::vector<std::string> names_;
  std::unique_ptr<duckdb::ColumnDataCollection> rows_;
};

}  // namespace

std::unique_ptr<ResultWriter> MakeBoxWriter(duckdb::ClientContext& context, Output* output) {
  return std::make_unique<BoxWriter>(context, output);
}

}  // namespace kelda::cli
