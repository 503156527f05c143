#include "kelda/sql/parser/paimon_type.h"

#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

namespace kelda::sql {
namespace {

constexpr int kDepthMax = 64;
constexpr int kLengthMax = 2147483647;

/// A type while it is parsed. `name` is Paimon's text of an atomic type or the root of a nested
/// one, whose other JSON members are `members`.
struct Node {
  std::string name;  ///< empty: no type of Paimon
  std::string members;
  bool not_null = false;
  std::string duckdb;
  bool native = true;  ///< DuckDB reads the user's text as `duckdb`

  bool known() const { return !name.empty(); }
  std::string Text() const {
    if (members.empty()) return name + (not_null ? " NOT NULL" : "");
    return "{\"type\":\"" + name + (not_null ? " NOT NULL\"" : "\"") + members + "}";
  }
  std::string Json() const { return members.empty() ? '"' + Text() + '"' : Text(); }
};

enum class Form {
  kPlain,
  kDecimal,
  kSized,  ///< CHAR, VARCHAR, BINARY, VARBINARY
  kTime,
  kTimestamp,  ///< with an optional zone suffix
  kTimestampLtz,
};

struct AtomicType {
  std::string_view word;
  Form form;
  std::string_view paimon;  ///< kSized: the root; others: the whole text when bare
  std::string_view duckdb;
  bool native = true;  ///< DuckDB knows `word`
};

constexpr AtomicType kAtomicTypes[] = {
    {"boolean", Form::kPlain, "BOOLEAN", "BOOLEAN"},
    {"bool", Form::kPlain, "BOOLEAN", "BOOLEAN"},
    {"logical", Form::kPlain, "BOOLEAN", "BOOLEAN"},
    {"tinyint", Form::kPlain, "TINYINT", "TINYINT"},
    {"int1", Form::kPlain, "TINYINT", "TINYINT"},
    {"byte", Form::kPlain, "TINYINT", "TINYINT", false},
    {"smallint", Form::kPlain, "SMALLINT", "SMALLINT"},
    {"int2", Form::kPlain, "SMALLINT", "SMALLINT"},
    {"int16", Form::kPlain, "SMALLINT", "SMALLINT"},
    {"short", Form::kPlain, "SMALLINT", "SMALLINT"},
    {"int", Form::kPlain, "INT", "INTEGER"},
    {"integer", Form::kPlain, "INT", "INTEGER"},
    {"int4", Form::kPlain, "INT", "INTEGER"},
    {"int32", Form::kPlain, "INT", "INTEGER"},
    {"signed", Form::kPlain, "INT", "INTEGER"},
    {"bigint", Form::kPlain, "BIGINT", "BIGINT"},
    {"int8", Form::kPlain, "BIGINT", "BIGINT"},
    {"int64", Form::kPlain, "BIGINT", "BIGINT"},
    {"long", Form::kPlain, "BIGINT", "BIGINT"},
    {"float", Form::kPlain, "FLOAT", "FLOAT"},
    {"float4", Form::kPlain, "FLOAT", "FLOAT"},
    {"real", Form::kPlain, "FLOAT", "FLOAT"},
    {"double", Form::kPlain, "DOUBLE", "DOUBLE"},
    {"float8", Form::kPlain, "DOUBLE", "DOUBLE"},
    {"decimal", Form::kDecimal, "DECIMAL(18, 3)", "DECIMAL"},
    {"numeric", Form::kDecimal, "DECIMAL(18, 3)", "DECIMAL"},
    {"dec", Form::kDecimal, "DECIMAL(18, 3)", "DECIMAL"},
    {"char", Form::kSized, "CHAR", "VARCHAR"},
    {"character", Form::kSized, "CHAR", "VARCHAR"},
    {"varchar", Form::kSized, "VARCHAR", "VARCHAR"},
    {"nvarchar", Form::kSized, "VARCHAR", "VARCHAR"},
    {"text", Form::kPlain, "STRING", "VARCHAR"},
    {"string", Form::kPlain, "STRING", "VARCHAR"},
    {"binary", Form::kSized, "BINARY", "BLOB"},
    {"varbinary", Form::kSized, "VARBINARY", "BLOB"},
    {"bytes", Form::kPlain, "BYTES", "BLOB", false},
    {"bytea", Form::kPlain, "BYTES", "BLOB"},
    {"blob", Form::kPlain, "BYTES", "BLOB"},
    {"date", Form::kPlain, "DATE", "DATE"},
    {"time", Form::kTime, "TIME(3)", "TIME"},
    {"timestamp", Form::kTimestamp, "TIMESTAMP(6)", "TIMESTAMP"},
    {"datetime", Form::kTimestamp, "TIMESTAMP(6)", "TIMESTAMP"},
    {"timestamp_ntz", Form::kTimestamp, "TIMESTAMP(6)", "TIMESTAMP", false},
    {"timestamp_s", Form::kPlain, "TIMESTAMP(0)", "TIMESTAMP_S"},
    {"timestamp_ms", Form::kPlain, "TIMESTAMP(3)", "TIMESTAMP_MS"},
    {"timestamp_us", Form::kPlain, "TIMESTAMP(6)", "TIMESTAMP"},
    {"timestamp_ns", Form::kPlain, "TIMESTAMP(9)", "TIMESTAMP_NS"},
    {"timestamptz", Form::kPlain, "TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP WITH TIME ZONE"},
    {"timestamp_ltz", Form::kTimestampLtz, "TIMESTAMP(6) WITH LOCAL TIME ZONE",
     "TIMESTAMP WITH TIME ZONE", false},
    {"variant", Form::kPlain, "VARIANT", "VARIANT"},
};

const AtomicType* FindAtomicType(std::string_view word) {
  for (const AtomicType& type : kAtomicTypes) {
    if (EqualsIgnoreCase(word, type.word)) return &type;
  }
  return nullptr;
}

class TypeParser {
 public:
  explicit TypeParser(const StatementTokens& tokens) : tokens_(tokens) {}

  /// False: no type at pos(), or error() is set.
  bool Parse(Node* out, int depth);

  void set_pos(size_t pos) { pos_ = pos; }
  size_t pos() const { return pos_; }
  std::optional<RewriteError>& error() { return error_; }

 private:
  bool ParseBase(Node* out, int depth);
  bool ParseAtomic(const AtomicType& type, Node* out);
  bool ParseDecimal(const AtomicType& type, Node* out);
  bool ParseSized(const AtomicType& type, Node* out);
  bool ParseTemporal(const AtomicType& type, Node* out);
  bool ParseArguments(size_t count_max, std::vector<int>* out);
  bool ParseCollection(Node* out, int depth);
  bool ParseMap(Node* out, int depth);
  bool ParseVector(Node* out, int depth);
  bool ParseRow(Node* out, int depth);
  bool ParseUnknown(Node* out);
  bool ParseSuffixes(Node* out);
  void ParseNullability(Node* out);
  bool MakeVector(Node* element, int length, bool native);

  /// The closing bracket of a nested type that opened with `<` or `(`.
  bool Close(bool angle) {
    if (!tokens_.IsSymbol(pos_, angle ? '>' : ')')) return false;
    ++pos_;
    return true;
  }
  bool Open(bool* angle) {
    *angle = tokens_.IsSymbol(pos_, '<');
    if (!*angle && !tokens_.IsSymbol(pos_, '(')) return false;
    ++pos_;
    return true;
  }
  bool Fail(size_t token, std::string message) {
    error_ =
        RewriteError{tokens_.Begin(token) - tokens_.Begin(tokens_.first()), std::move(message)};
    return false;
  }
  bool FailRange(size_t token, std::string_view what, int low, int high) {
    return Fail(token, std::string(what) + " must be between " + std::to_string(low) + " and " +
                           std::to_string(high) + ", found " + std::string(tokens_.Text(token)));
  }

  const StatementTokens& tokens_;
  size_t pos_ = 0;
  std::optional<RewriteError> error_;
};

bool TypeParser::Parse(Node* out, int depth) {
  if (depth > kDepthMax)
    return Fail(pos_, "types may be nested at most " + std::to_string(kDepthMax) + " deep");
  return ParseBase(out, depth) && ParseSuffixes(out);
}

bool TypeParser::ParseBase(Node* out, int depth) {
  if (!tokens_.IsIdentifier(pos_)) return false;
  if (tokens_.IsWord(pos_)) {
    bool opens_angle = tokens_.IsSymbol(pos_ + 1, '<');
    bool opens = opens_angle || tokens_.IsSymbol(pos_ + 1, '(');
    if (opens_angle && (tokens_.Is(pos_, "array") || tokens_.Is(pos_, "multiset")))
      return ParseCollection(out, depth);
    if (opens && tokens_.Is(pos_, "map")) return ParseMap(out, depth);
    if (opens_angle && tokens_.Is(pos_, "vector")) return ParseVector(out, depth);
    if (opens && tokens_.IsAny(pos_, "row", "struct")) return ParseRow(out, depth);
    if (const AtomicType* type = FindAtomicType(tokens_.Text(pos_)); type != nullptr) {
      return ParseAtomic(*type, out);
    }
  }
  return ParseUnknown(out);
}

bool TypeParser::ParseAtomic(const AtomicType& type, Node* out) {
  ++pos_;
  out->duckdb = type.duckdb;
  out->native = type.native;
  switch (type.form) {
    case Form::kDecimal:
      return ParseDecimal(type, out);
    case Form::kSized:
      return ParseSized(type, out);
    case Form::kTime:
    case Form::kTimestamp:
    case Form::kTimestampLtz:
      return ParseTemporal(type, out);
    case Form::kPlain:
      break;
  }
  if (tokens_.IsSymbol(pos_, '(')) {  // FLOAT(24), TEXT(10): DuckDB decides
    size_t close = tokens_.Closing(pos_);
    if (!tokens_.Has(close)) return false;
    out->duckdb = tokens_.Render(pos_ - 1, close + 1);
    pos_ = close + 1;
    return true;
  }
  if (EqualsIgnoreCase(type.word, "double") && tokens_.Is(pos_, "precision")) ++pos_;
  out->name = type.paimon;
  return true;
}

/// `(n)` or `(n, m)`; nothing in `out` if there is no parenthesis. False if it holds anything but
/// numbers.
bool TypeParser::ParseArguments(size_t count_max, std::vector<int>* out) {
  if (!tokens_.IsSymbol(pos_, '(')) return true;
  size_t i = pos_ + 1;
  while (true) {
    if (!tokens_.IsKind(i, TokenKind::kNumber) || out->size() == count_max) return false;
    std::string_view text = tokens_.Text(i);
    int value = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc::result_out_of_range)
      return FailRange(i, "a type argument", 0, kLengthMax);
    if (code != std::errc() || end != text.data() + text.size()) return false;
    out->push_back(value);
    if (tokens_.IsSymbol(i + 1, ')')) break;
    if (!tokens_.IsSymbol(i + 1, ',')) return false;
    i += 2;
  }
  pos_ = i + 2;
  return true;
}

bool TypeParser::ParseDecimal(const AtomicType& type, Node* out) {
  size_t open = pos_;
  std::vector<int> arguments;
  if (!ParseArguments(2, &arguments)) return false;
  out->name = type.paimon;
  if (arguments.empty()) return true;
  int scale = arguments.size() == 2 ? arguments[1] : 0;
  if (arguments[0] < 1 || arguments[0] > 38)
    return FailRange(open + 1, "the precision of DECIMAL", 1, 38);
  if (scale > arguments[0]) return FailRange(open + 3, "the scale of DECIMAL", 0, arguments[0]);
  std::string precision = std::to_string(arguments[0]);
  out->name = "DECIMAL(" + precision + ", " + std::to_string(scale) + ")";
  out->duckdb = "DECIMAL(" + precision + ", " + std::to_string(scale) + ")";
  return true;
}

bool TypeParser::ParseSized(const AtomicType& type, Node* out) {
  std::string root(type.paimon);
  if (EqualsIgnoreCase(type.word, "character") && tokens_.Is(pos_, "varying")) {
    ++pos_;
    root = "VARCHAR";
  }
  size_t open = pos_;
  std::vector<int> arguments;
  if (!ParseArguments(1, &arguments)) return false;
  bool bytes = type.duckdb == "BLOB";
  if (arguments.empty()) {
    out->name = root == "CHAR" ? "CHAR(1)" : bytes ? "BYTES" : "STRING";
    return true;
  }
  if (arguments[0] < 1) return FailRange(open + 1, "the length of " + root, 1, kLengthMax);
  if (bytes) out->native = false;
  if (arguments[0] == kLengthMax && (root == "VARCHAR" || root == "VARBINARY")) {
    out->name = bytes ? "BYTES" : "STRING";
  } else {
    out->name = root + "(" + std::to_string(arguments[0]) + ")";
  }
  return true;
}

bool TypeParser::ParseTemporal(const AtomicType& type, Node* out) {
  size_t open = pos_;
  std::vector<int> arguments;
  if (!ParseArguments(1, &arguments)) return false;
  bool time = type.form == Form::kTime;
  int precision = arguments.empty() ? (time ? 3 : 6) : arguments[0];
  std::string root = time ? "TIME" : "TIMESTAMP";
  if (precision > 9) return FailRange(open + 1, "the precision of " + root, 0, 9);
  bool local = type.form == Form::kTimestampLtz;
  bool zoned_time = false;
  if (type.form != Form::kTimestampLtz) {
    if (tokens_.Are(pos_, "without", "time", "zone")) {
      pos_ += 3;
    } else if (tokens_.Are(pos_, "with", "local", "time", "zone")) {
      pos_ += 4;
      local = true;
      out->native = false;
    } else if (tokens_.Are(pos_, "with", "time", "zone")) {
      pos_ += 3;
      local = true;
      zoned_time = time;  // TIMETZ, which Paimon has not
      out->native = out->native && arguments.empty();
    }
  }
  if (time) {
    if (local) {
      out->native = zoned_time && arguments.empty();
      out->duckdb = "TIME WITH TIME ZONE";
      return true;
    }
    if (!arguments.empty()) out->native = false;  // DuckDB's TIME takes no argument
  }
  out->name = root + "(" + std::to_string(precision) + ")";
  if (local) {
    out->name += " WITH LOCAL TIME ZONE";
    out->duckdb = "TIMESTAMP WITH TIME ZONE";
  } else if (!time && !arguments.empty()) {
    out->duckdb = precision == 0   ? "TIMESTAMP_S"
                  : precision <= 3 ? "TIMESTAMP_MS"
                  : precision <= 6 ? "TIMESTAMP"
                                   : "TIMESTAMP_NS";
  }
  return true;
}

bool TypeParser::ParseCollection(Node* out, int depth) {
  bool multiset = tokens_.Is(pos_, "multiset");
  pos_ += 2;
  Node element;
  if (!Parse(&element, depth + 1)) return false;
  ParseNullability(&element);
  if (!Close(true)) return false;
  out->native = false;
  out->duckdb = multiset ? "MAP(" + element.duckdb + ", INTEGER)" : element.duckdb + "[]";
  if (element.known()) {
    out->name = multiset ? "MULTISET" : "ARRAY";
    out->members = ",\"element\":" + element.Json();
  }
  return true;
}

bool TypeParser::ParseMap(Node* out, int depth) {
  ++pos_;
  bool angle = false;
  Node key, value;
  if (!Open(&angle) || !Parse(&key, depth + 1)) return false;
  ParseNullability(&key);
  if (!tokens_.IsSymbol(pos_, ',')) return false;
  ++pos_;
  if (!Parse(&value, depth + 1)) return false;
  ParseNullability(&value);
  if (!Close(angle)) return false;
  out->native = !angle && key.native && value.native;
  out->duckdb = "MAP(" + key.duckdb + ", " + value.duckdb + ")";
  if (key.known() && value.known()) {
    out->name = "MAP";
    out->members = ",\"key\":" + key.Json() + ",\"value\":" + value.Json();
  }
  return true;
}

bool TypeParser::ParseVector(Node* out, int depth) {
  pos_ += 2;
  Node element;
  if (!Parse(&element, depth + 1)) return false;
  ParseNullability(&element);
  if (!tokens_.IsSymbol(pos_, ',') || !tokens_.IsKind(pos_ + 1, TokenKind::kNumber)) return false;
  std::string_view text = tokens_.Text(pos_ + 1);
  int length = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (code != std::errc() || end != text.data() + text.size() || length < 1) {
    return FailRange(pos_ + 1, "the length of VECTOR", 1, kLengthMax);
  }
  pos_ += 2;
  *out = std::move(element);
  return Close(true) && MakeVector(out, length, false);
}

/// Spec 01 §2.2: elements of VECTOR are BOOLEAN, the integers, FLOAT and DOUBLE.
bool TypeParser::MakeVector(Node* element, int length, bool native) {
  static constexpr std::string_view kElements[] = {"BOOLEAN", "TINYINT", "SMALLINT", "INT",
                                                   "BIGINT",  "FLOAT",   "DOUBLE"};
  bool allowed = false;
  for (std::string_view name : kElements) allowed = allowed || element->name == name;
  Node out;
  out.native = native && element->native;
  out.duckdb = element->duckdb + "[" + std::to_string(length) + "]";
  if (allowed) {
    out.name = "VECTOR";
    out.members = ",\"element\":" + element->Json() + ",\"length\":" + std::to_string(length);
  }
  *element = std::move(out);
  return true;
}

bool TypeParser::ParseRow(Node* out, int depth) {
  ++pos_;
  bool angle = false;
  if (!Open(&angle)) return false;
  out->native = !angle;
  bool known = true;
  std::string fields;
  std::string duckdb;
  while (true) {
    if (!tokens_.IsIdentifier(pos_)) return false;
    std::string name = tokens_.Identifier(pos_);
    if (tokens_.Kind(pos_) == TokenKind::kBackticked) out->native = false;
    ++pos_;
    if (tokens_.IsSymbol(pos_, ':')) {
      out->native = false;
      ++pos_;
    }
    Node type;
    if (!Parse(&type, depth + 1)) return false;
    size_t end_of_type = pos_;
    ParseNullability(&type);
    std::string description;
    if (tokens_.Is(pos_, "comment")) ++pos_;
    if (tokens_.IsKind(pos_, TokenKind::kString)) {
      std::optional<std::string> comment = StringValue(tokens_.Text(pos_));
      if (!comment) return false;
      description = ",\"description\":" + QuoteJson(*comment);
      ++pos_;
    }
    out->native = out->native && type.native && pos_ == end_of_type;
    known = known && type.known();
    if (known)
      fields += (fields.empty() ? "" : ",") + ("{\"name\":" + QuoteJson(name)) +
                ",\"type\":" + type.Json() + description + "}";
    duckdb += (duckdb.empty() ? "" : ", ") + QuoteIdentifier(name) + " " + type.duckdb;
    if (!tokens_.IsSymbol(pos_, ',')) break;
    ++pos_;
  }
  if (!Close(angle)) return false;
  out->duckdb = "STRUCT(" + duckdb + ")";
  if (known) {
    out->name = "ROW";
    out->members = ",\"fields\":[" + fields + "]";
  }
  return true;
}

/// `a.b(...)`: a type that only DuckDB knows.
bool TypeParser::ParseUnknown(Node* out) {
  size_t begin = pos_;
  pos_ = tokens_.EndOfQualifiedName(pos_);
  if (tokens_.IsSymbol(pos_, '(')) {
    size_t close = tokens_.Closing(pos_);
    if (!tokens_.Has(close)) return false;
    pos_ = close + 1;
  }
  out->duckdb = tokens_.Render(begin, pos_);
  for (size_t i = begin; i < pos_; ++i)
    out->native = out->native && tokens_.Kind(i) != TokenKind::kBackticked;
  return true;
}

/// `T[]`, `T[3]`, `T ARRAY`, `T ARRAY[3]`, `T MULTISET`, as often as they come.
bool TypeParser::ParseSuffixes(Node* out) {
  for (int count = 0;; ++count) {
    if (count > kDepthMax)
      return Fail(pos_, "types may be nested at most " + std::to_string(kDepthMax) + " deep");
    size_t before = pos_;
    bool word = tokens_.Is(pos_, "array");
    bool multiset = tokens_.Is(pos_, "multiset");
    if (tokens_.Are(pos_, "not", "null", "array") || tokens_.Are(pos_, "not", "null", "multiset")) {
      ParseNullability(out);
      out->native = false;
      continue;
    }
    if (word || multiset) ++pos_;
    if (!multiset && tokens_.IsSymbol(pos_, '[')) {
      if (tokens_.IsKind(pos_ + 1, TokenKind::kNumber) && tokens_.IsSymbol(pos_ + 2, ']')) {
        std::string_view text = tokens_.Text(pos_ + 1);
        int length = 0;
        auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), length);
        if (code != std::errc() || end != text.data() + text.size() || length < 1) return false;
        pos_ += 3;
        if (!MakeVector(out, length, true)) return false;
        continue;
      }
      if (!tokens_.IsSymbol(pos_ + 1, ']')) return false;
      pos_ += 2;
    }
    if (pos_ == before) return true;
    Node collection;
    collection.native = out->native && !multiset;
    collection.duckdb = multiset ? "MAP(" + out->duckdb + ", INTEGER)" : out->duckdb + "[]";
    if (out->known()) {
      collection.name = multiset ? "MULTISET" : "ARRAY";
      collection.members = ",\"element\":" + out->Json();
    }
    *out = std::move(collection);
  }
}

void TypeParser::ParseNullability(Node* out) {
  if (tokens_.Are(pos_, "not", "null")) {
    out->not_null = true;
    out->native = false;
    pos_ += 2;
  } else if (tokens_.Is(pos_, "null")) {
    out->native = false;
    ++pos_;
  }
}

}  // namespace

std::variant<std::monostate, ParsedType, RewriteError> ParseType(const StatementTokens& tokens,
                                                                 size_t begin) {
  TypeParser parser(tokens);
  parser.set_pos(begin);
  Node node;
  if (!parser.Parse(&node, 0)) {
    if (parser.error()) return std::move(*parser.error());
    return std::monostate();
  }
  ParsedType out;
  out.end = parser.pos();
  if (node.known()) out.paimon = node.Text();
  if (!node.native) out.duckdb = node.duckdb;
  return out;
}

}  // namespace kelda::sql
