#include "apps/kelda/result_writer.h"

#include <utility>
#include <vector>

#include <duckdb/common/vector_operations/vector_operations.hpp>

#include "apps/kelda/json_value.h"

namespace kelda::cli {
namespace {

using duckdb::idx_t;
using Names = duckdb::vector<std::string>;
using Types = duckdb::vector<duckdb::LogicalType>;

/// Rows as SQL text, value by value.
class TextWriter : public ResultWriter {
 public:
  TextWriter(duckdb::ClientContext& context, Output* output)
      : context_(context), output_(*output) {}

  void Begin(const Names& names, const Types& types) override {
    names_ = names;
    Types text(types.size(), duckdb::LogicalType::VARCHAR);
    text_.Initialize(context_, text);
    Header();
  }

  void Write(duckdb::DataChunk& chunk) override {
    text_.Reset();
    std::vector<duckdb::UnifiedVectorFormat> columns(chunk.ColumnCount());
    for (idx_t i = 0; i < chunk.ColumnCount(); ++i) {
      duckdb::VectorOperations::Cast(context_, chunk.data[i], text_.data[i], chunk.size());
      text_.data[i].ToUnifiedFormat(chunk.size(), columns[i]);
    }
    std::string* out = output_.buffer();
    for (idx_t row = 0; row < chunk.size(); ++row) {
      BeginRow(out);
      for (idx_t i = 0; i < columns.size(); ++i) {
        idx_t index = columns[i].sel->get_index(row);
        if (!columns[i].validity.RowIsValid(index)) {
          Value(i, std::nullopt, out);
          continue;
        }
        const auto& text =
            duckdb::UnifiedVectorFormat::GetData<duckdb::string_t>(columns[i])[index];
        Value(i, std::string_view(text.GetData(), text.GetSize()), out);
      }
      EndRow(out);
      output_.FlushIfLarge();
    }
  }

  void End() override {}

 protected:
  virtual void Header() = 0;
  virtual void BeginRow(std::string*) {}
  virtual void Value(idx_t column, std::optional<std::string_view> text, std::string* out) = 0;
  virtual void EndRow(std::string* out) = 0;

  duckdb::ClientContext& context_;
  Output& output_;
  Names names_;
  duckdb::DataChunk text_;
};

/// One row a line, the names first.
class DelimitedWriter : public TextWriter {
 public:
  using TextWriter::TextWriter;

 protected:
  void Header() override {
    for (idx_t i = 0; i < names_.size(); ++i) Value(i, names_[i], output_.buffer());
    EndRow(output_.buffer());
  }
  void EndRow(std::string* out) override { *out += '\n'; }
};

/// RFC 4180 with line feeds. NULL is empty, an empty string is "".
class CsvWriter : public DelimitedWriter {
 public:
  using DelimitedWriter::DelimitedWriter;

 protected:
  void Value(idx_t column, std::optional<std::string_view> text, std::string* out) override {
    if (column > 0) *out += ',';
    if (!text) return;
    if (!text->empty() && text->find_first_of(",\"\r\n") == std::string_view::npos) {
      *out += *text;
      return;
    }
    *out += '"';
    for (char c : *text) {
      *out += c;
      if (c == '"') *out += c;
    }
    *out += '"';
  }
};

/// Tabs between values; tab, line feed, carriage return and backslash are \t \n \r \\, NULL is \N.
class TsvWriter : public DelimitedWriter {
 public:
  using DelimitedWriter::DelimitedWriter;

 protected:
  void Value(idx_t column, std::optional<std::string_view> text, std::string* out) override {
    if (column > 0) *out += '\t';
    if (!text) {
      *out += "\\N";
      return;
    }
    for (char c : *text) {
      switch (c) {
        case '\t':
          *out += "\\t";
          break;
        case '\n':
          *out += "\\n";
          break;
        case '\r':
          *out += "\\r";
          break;
        case '\\':
          *out += "\\\\";
          break;
        default:
          *out += c;
      }
    }
  }
};

class MarkdownWriter : public TextWriter {
 public:
  using TextWriter::TextWriter;

 protected:
  void Header() override {
    std::string* out = output_.buffer();
    for (idx_t i = 0; i < names_.size(); ++i) Value(i, names_[i], out);
    EndRow(out);
    for (idx_t i = 0; i < names_.size(); ++i) *out += "|---";
    *out += "|\n";
  }
  void Value(idx_t, std::optional<std::string_view> text, std::string* out) override {
    *out += "| ";
    for (char c : text.value_or("NULL")) {
      if (c == '\n') {
        *out += "<br>";
      } else if (c != '\r') {
        if (c == '|' || c == '\\') *out += '\\';
        *out += c;
      }
    }
    *out += ' ';
  }
  void EndRow(std::string* out) override { *out += "|\n"; }
};

/// One `name = value` a line, an empty line between rows.
class LineWriter : public TextWriter {
 public:
  using TextWriter::TextWriter;

 protected:
  void Header() override {
    for (const std::string& name : names_) width_ = std::max(width_, name.size());
  }
  void BeginRow(std::string* out) override {
    if (!std::exchange(first_, false)) *out += '\n';
  }
  void Value(idx_t column, std::optional<std::string_view> text, std::string* out) override {
    out->append(width_ - names_[column].size(), ' ');
    *out += names_[column];
    *out += " = ";
    *out += text.value_or("NULL");
    *out += '\n';
  }
  void EndRow(std::string*) override {}

 private:
  size_t width_ = 0;
  bool first_ = true;
};

/// One object per row; as lines, or as one array.
class JsonWriter : public ResultWriter {
 public:
  JsonWriter(duckdb::ClientContext& context, Output* output, bool array)
      : context_(context), output_(*output), array_(array) {}

  void Begin(const Names& names, const Types& types) override {
    for (idx_t i = 0; i < names.size(); ++i) {
      std::string& key = keys_.emplace_back(i == 0 ? "{" : ",");
      AppendJsonString(names[i], &key);
      key += ':';
      as_text_.push_back(!HasJsonForm(types[i]));
    }
    if (array_) output_.Write("[");
  }

  void Write(duckdb::DataChunk& chunk) override {
    std::vector<duckdb::Vector> casts;
    casts.reserve(chunk.ColumnCount());
    std::vector<duckdb::RecursiveUnifiedVectorFormat> columns(chunk.ColumnCount());
    for (idx_t i = 0; i < chunk.ColumnCount(); ++i) {
      duckdb::Vector* column = &chunk.data[i];
      if (as_text_[i]) {
        casts.emplace_back(duckdb::LogicalType::VARCHAR, chunk.size());
        duckdb::VectorOperations::Cast(context_, *column, casts.back(), chunk.size());
        column = &casts.back();
      }
      duckdb::Vector::RecursiveToUnifiedFormat(*column, chunk.size(), columns[i]);
    }
    std::string* out = output_.buffer();
    for (idx_t row = 0; row < chunk.size(); ++row) {
      if (array_) *out += std::exchange(first_, false) ? "\n" : ",\n";
      for (idx_t i = 0; i < columns.size(); ++i) {
        *out += keys_[i];
        AppendJson(columns[i], row, out);
      }
      *out += array_ ? "}" : "}\n";
      output_.FlushIfLarge();
    }
  }

  void End() override {
    if (array_) output_.Write(first_ ? "]\n" : "\n]\n");
  }

 private:
  duckdb::ClientContext& context_;
  Output& output_;
  bool array_;
  bool first_ = true;
  std::vector<std::string> keys_;
  std::vector<bool> as_text_;
};

}  // namespace

std::optional<Format> ParseFormat(std::string_view name) {
  static constexpr std::pair<std::string_view, Format> kFormats[] = {
      {"box", Format::kBox},   {"csv", Format::kCsv},     {"tsv", Format::kTsv},
      {"json", Format::kJson}, {"jsonl", Format::kJsonl}, {"markdown", Format::kMarkdown},
      {"line", Format::kLine}};
  for (const auto& [text, format] : kFormats) {
    if (text == name) return format;
  }
  return std::nullopt;
}

std::unique_ptr<ResultWriter> ResultWriter::Make(Format format, duckdb::ClientContext& context,
                                                 Output* output) {
  switch (format) {
    case Format::kCsv:
      return std::make_unique<CsvWriter>(context, output);
    case Format::kTsv:
      return std::make_unique<TsvWriter>(context, output);
    case Format::kJson:
      return std::make_unique<JsonWriter>(context, output, true);
    case Format::kJsonl:
      return std::make_unique<JsonWriter>(context, output, false);
    case Format::kMarkdown:
      return std::make_unique<MarkdownWriter>(context, output);
    case Format::kLine:
      return std::make_unique<LineWriter>(context, output);
    case Format::kBox:
      break;
  }
  return MakeBoxWriter(context, output);
}

}  // namespace kelda::cli
