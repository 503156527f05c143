// Text form of types (spec 01 §2.2): a tokenizer and a recursive parser with a depth limit.
#include <algorithm>
#include <charconv>
#include <utility>

#include "kelda/types/data_type.h"

namespace kelda {

namespace {

enum class TokenKind { kEnd, kWord, kNumber, kQuotedName, kString, kSymbol };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  ///< words in upper case, `raw` keeps the spelling
  std::string raw;
  size_t offset = 0;
};

bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

std::string UpperAscii(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

int DepthOf(const DataType& type) {
  int below = 0;
  switch (type.root()) {
    case TypeRoot::kArray:
    case TypeRoot::kMultiset:
    case TypeRoot::kVector:
      below = DepthOf(type.element());
      break;
    case TypeRoot::kMap:
      below = std::max(DepthOf(type.key()), DepthOf(type.value()));
      break;
    case TypeRoot::kRow:
      for (const DataField& field : type.fields()) below = std::max(below, DepthOf(field.type));
      break;
    default:
      break;
  }
  return below + 1;
}

class TypeParser {
 public:
  explicit TypeParser(std::string_view text) : text_(text) {}

  arrow::Result<DataType> ParseAll() {
    ARROW_RETURN_NOT_OK(Advance());
    ARROW_ASSIGN_OR_RAISE(DataType type, ParseType(1));
    if (token_.kind != TokenKind::kEnd) return Error("unexpected text after the type");
    // Suffixes wrap what may be deep itself; the parser's own limits only bound that sum.
    if (DepthOf(type) > DataType::kDepthMax) {
      return Error(fmt::format("nested deeper than {}", DataType::kDepthMax));
    }
    return type;
  }

 private:
  arrow::Status Error(std::string_view what) const {
    // The text may be long and hostile: show its beginning only.
    return Invalid("type '{}'{}: {} at offset {}", text_.substr(0, 200),
                   text_.size() > 200 ? "..." : "", what, token_.offset);
  }

  arrow::Status Advance() {
    while (position_ < text_.size() && IsBlank(text_[position_])) ++position_;
    token_ = Token{};
    token_.offset = position_;
    if (position_ == text_.size()) return arrow::Status::OK();
    const char c = text_[position_];
    if (c == '`' || c == '\'') return ReadQuoted(c);
    const size_t start = position_;
    if (IsWordStart(c)) {
      while (position_ < text_.size() &&
             (IsWordStart(text_[position_]) || IsDigit(text_[position_])))
        ++position_;
      token_.kind = TokenKind::kWord;
    } else if (IsDigit(c)) {
      while (position_ < text_.size() && IsDigit(text_[position_])) ++position_;
      token_.kind = TokenKind::kNumber;
    } else {
      ++position_;
      token_.kind = TokenKind::kSymbol;
    }
    token_.raw = std::string(text_.substr(start, position_ - start));
    token_.text = UpperAscii(token_.raw);
    return arrow::Status::OK();
  }

  arrow::Status ReadQuoted(char quote) {
    ++position_;
    std::string content;
    while (position_ < text_.size()) {
      const char c = text_[position_++];
      if (c != quote) {
        content += c;
      } else if (position_ < text_.size() && text_[position_] == quote) {
        content += quote;
        ++position_;
      } else {
        token_.kind = quote == '`' ? TokenKind::kQuotedName : TokenKind::kString;
        token_.raw = std::move(content);
        return arrow::Status::OK();
      }
    }
    return Error("missing closing quote");
  }

  bool IsSymbol(char c) const { return token_.kind == TokenKind::kSymbol && token_.text[0] == c; }
  bool IsWord(std::string_view word) const {
    return token_.kind == TokenKind::kWord && token_.text == word;
  }

  arrow::Status ExpectSymbol(char c) {
    if (!IsSymbol(c)) return Error(std::string("expected '") + c + "'");
    return Advance();
  }
  arrow::Status ExpectWord(std::string_view word) {
    if (!IsWord(word)) return Error(fmt::format("expected {}", word));
    return Advance();
  }
  arrow::Result<bool> AcceptWord(std::string_view word) {
    if (!IsWord(word)) return false;
    ARROW_RETURN_NOT_OK(Advance());
    return true;
  }

  arrow::Result<int32_t> Number() {
    if (token_.kind != TokenKind::kNumber) return Error("expected a number");
    int32_t value = 0;
    const char* end = token_.text.data() + token_.text.size();
    const auto result = std::from_chars(token_.text.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end) return Error("number out of range");
    ARROW_RETURN_NOT_OK(Advance());
    return value;
  }

  /// `(n)` or `default_value`.
  arrow::Result<int32_t> OptionalNumber(int32_t default_value, int32_t min, int32_t max,
                                        std::string_view what) {
    if (!IsSymbol('(')) return default_value;
    ARROW_RETURN_NOT_OK(Advance());
    ARROW_ASSIGN_OR_RAISE(int32_t value, Number());
    if (value < min || value > max)
      return Error(fmt::format("{} must be between {} and {}", what, min, max));
    ARROW_RETURN_NOT_OK(ExpectSymbol(')'));
    return value;
  }

  arrow::Result<bool> Nullability() {
    ARROW_ASSIGN_OR_RAISE(bool is_not, AcceptWord("NOT"));
    if (is_not) {
      ARROW_RETURN_NOT_OK(ExpectWord("NULL"));
      return false;
    }
    ARROW_RETURN_NOT_OK(AcceptWord("NULL").status());
    return true;
  }

  arrow::Result<DataType> ParseType(int depth) {
    if (depth > DataType::kDepthMax)
      return Error(fmt::format("nested deeper than {}", DataType::kDepthMax));
    ARROW_ASSIGN_OR_RAISE(DataType type, ParseBase(depth));
    ARROW_ASSIGN_OR_RAISE(bool nullable, Nullability());
    type = type.WithNullable(nullable);
    // `INT ARRAY`, `INT NOT NULL MULTISET NOT NULL`: each suffix wraps what is before it.
    int suffixes = 0;
    while (IsWord("ARRAY") || IsWord("MULTISET")) {
      if (depth + ++suffixes > DataType::kDepthMax) {
        return Error(fmt::format("nested deeper than {}", DataType::kDepthMax));
      }
      const bool is_array = IsWord("ARRAY");
      ARROW_RETURN_NOT_OK(Advance());
      ARROW_ASSIGN_OR_RAISE(nullable, Nullability());
      type = is_array ? DataType::Array(std::move(type), nullable)
                      : DataType::Multiset(std::move(type), nullable);
    }
    return type;
  }

  arrow::Result<DataType> ParseBase(int depth) {
    if (token_.kind != TokenKind::kWord) return Error("expected a type name");
    const Token name = token_;
    ARROW_RETURN_NOT_OK(Advance());
    const std::string& word = name.text;
    if (word == "ARRAY" || word == "MULTISET" || word == "MAP" || word == "ROW" ||
        word == "VECTOR") {
      return ParseNested(word, depth);
    }
    if (word == "CHAR") return ParseSized(TypeRoot::kChar);
    if (word == "VARCHAR") return ParseSized(TypeRoot::kVarChar);
    if (word == "BINARY") return ParseSized(TypeRoot::kBinary);
    if (word == "VARBINARY") return ParseSized(TypeRoot::kVarBinary);
    if (word == "DECIMAL" || word == "NUMERIC" || word == "DEC") return ParseDecimal();
    if (word == "TIME" || word == "TIMESTAMP" || word == "TIMESTAMP_LTZ")
      return ParseTemporal(word);
    if (word == "STRING") return DataType::String();
    if (word == "BYTES") return DataType::Bytes();
    if (word == "BOOLEAN") return DataType(TypeRoot::kBoolean);
    if (word == "TINYINT") return DataType(TypeRoot::kTinyInt);
    if (word == "SMALLINT") return DataType(TypeRoot::kSmallInt);
    if (word == "INT" || word == "INTEGER") return DataType(TypeRoot::kInt);
    if (word == "BIGINT") return DataType(TypeRoot::kBigInt);
    if (word == "FLOAT") return DataType(TypeRoot::kFloat);
    if (word == "DOUBLE") {
      ARROW_RETURN_NOT_OK(AcceptWord("PRECISION").status());
      return DataType(TypeRoot::kDouble);
    }
    if (word == "DATE") return DataType(TypeRoot::kDate);
    if (word == "VARIANT") return DataType(TypeRoot::kVariant);
    if (word == "BLOB") return DataType(TypeRoot::kBlob);
    token_ = name;
    return Error("unknown type name");
  }

  arrow::Result<DataType> ParseSized(TypeRoot root) {
    ARROW_ASSIGN_OR_RAISE(int32_t length, OptionalNumber(1, 1, DataType::kLengthMax, "length"));
    return DataType::Sized(root, length);
  }

  arrow::Result<DataType> ParseDecimal() {
    int32_t precision = 10;
    int32_t scale = 0;
    if (IsSymbol('(')) {
      ARROW_RETURN_NOT_OK(Advance());
      ARROW_ASSIGN_OR_RAISE(precision, Number());
      if (IsSymbol(',')) {
        ARROW_RETURN_NOT_OK(Advance());
        ARROW_ASSIGN_OR_RAISE(scale, Number());
      }
      if (precision < 1 || precision > 38)
        return Error("DECIMAL precision must be between 1 and 38");
      if (scale > precision) return Error("DECIMAL scale must be between 0 and the precision");
      ARROW_RETURN_NOT_OK(ExpectSymbol(')'));
    }
    return DataType::Decimal(precision, scale);
  }

  arrow::Result<DataType> ParseTemporal(const std::string& word) {
    if (word == "TIME") {
      ARROW_ASSIGN_OR_RAISE(int32_t precision, OptionalNumber(0, 0, 9, "precision"));
      ARROW_ASSIGN_OR_RAISE(bool without, AcceptWord("WITHOUT"));
      if (without) ARROW_RETURN_NOT_OK(ExpectTimeZone());
      return DataType::Temporal(TypeRoot::kTime, precision);
    }
    ARROW_ASSIGN_OR_RAISE(int32_t precision, OptionalNumber(6, 0, 9, "precision"));
    if (word == "TIMESTAMP_LTZ") return DataType::Temporal(TypeRoot::kTimestampLtz, precision);
    ARROW_ASSIGN_OR_RAISE(bool without, AcceptWord("WITHOUT"));
    if (without) {
      ARROW_RETURN_NOT_OK(ExpectTimeZone());
      return DataType::Temporal(TypeRoot::kTimestamp, precision);
    }
    ARROW_ASSIGN_OR_RAISE(bool with, AcceptWord("WITH"));
    if (!with) return DataType::Temporal(TypeRoot::kTimestamp, precision);
    ARROW_RETURN_NOT_OK(ExpectWord("LOCAL"));
    ARROW_RETURN_NOT_OK(ExpectTimeZone());
    return DataType::Temporal(TypeRoot::kTimestampLtz, precision);
  }

  arrow::Status ExpectTimeZone() {
    ARROW_RETURN_NOT_OK(ExpectWord("TIME"));
    return ExpectWord("ZONE");
  }

  arrow::Result<DataType> ParseNested(const std::string& word, int depth) {
    if (word == "ROW") return ParseRow(depth);
    ARROW_RETURN_NOT_OK(ExpectSymbol('<'));
    ARROW_ASSIGN_OR_RAISE(DataType first, ParseType(depth + 1));
    DataType type;
    if (word == "ARRAY") {
      type = DataType::Array(std::move(first));
    } else if (word == "MULTISET") {
      type = DataType::Multiset(std::move(first));
    } else {
      ARROW_RETURN_NOT_OK(ExpectSymbol(','));
      if (word == "MAP") {
        ARROW_ASSIGN_OR_RAISE(DataType value, ParseType(depth + 1));
        type = DataType::Map(std::move(first), std::move(value));
      } else {
        ARROW_ASSIGN_OR_RAISE(int32_t length, Number());
        ARROW_RETURN_NOT_OK(CheckVector(first, length));
        type = DataType::Vector(std::move(first), length);
      }
    }
    ARROW_RETURN_NOT_OK(ExpectSymbol('>'));
    return type;
  }

  arrow::Result<DataType> ParseRow(int depth) {
    const bool angle = IsSymbol('<');
    if (!angle && !IsSymbol('(')) return Error("expected '<' after ROW");
    const char close = angle ? '>' : ')';
    ARROW_RETURN_NOT_OK(Advance());
    std::vector<DataField> fields;
    while (!IsSymbol(close)) {
      if (!fields.empty()) ARROW_RETURN_NOT_OK(ExpectSymbol(','));
      if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kQuotedName) {
        return Error("expected a field name");
      }
      DataField field;
      field.name = token_.raw;
      ARROW_RETURN_NOT_OK(Advance());
      ARROW_ASSIGN_OR_RAISE(field.type, ParseType(depth + 1));
      if (token_.kind == TokenKind::kString) {
        field.description = token_.raw;
        ARROW_RETURN_NOT_OK(Advance());
      }
      fields.push_back(std::move(field));
    }
    ARROW_RETURN_NOT_OK(Advance());
    return DataType::Row(std::move(fields));
  }

  arrow::Status CheckVector(const DataType& element, int32_t length) const {
    if (length < 1) return Error("VECTOR length must be at least 1");
    if (!IsVectorElement(element))
      return Error("VECTOR element must be a BOOLEAN, an integer, FLOAT or DOUBLE");
    return arrow::Status::OK();
  }

  std::string_view text_;
  size_t position_ = 0;
  Token token_;
};

}  // namespace

bool IsVectorElement(const DataType& type) { return type.root() <= TypeRoot::kDouble; }

arrow::Result<DataType> DataType::Parse(std::string_view text) {
  return TypeParser(text).ParseAll();
}

}  // namespace kelda
