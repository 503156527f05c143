// ALTER TABLE as Spark, Flink and DuckDB spell it, where DuckDB's grammar has no words for it or
// its types would forget lengths: the changes of columns become tags (alter_table_contract.h).
#include <nlohmann/json.hpp>

#include "kelda/sql/parser/alter_table_contract_keys.h"
#include "kelda/sql/parser/paimon_type.h"
#include "kelda/sql/parser/rewriters.h"

namespace kelda::sql {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::vector<std::string>;

class AlterRewriter {
 public:
  AlterRewriter(StatementRewriter* rewriter, size_t pos)
      : rewriter_(*rewriter), tokens_(rewriter->tokens), start_(pos), pos_(pos) {}

  /// False if the statement is not one of these.
  bool Run() {
    const bool understood = Parse();
    if (rewriter_.error) return true;
    if (!understood || pos_ != tokens_.last() || changes_.empty()) return false;
    const bool native = IsNative();
    if (no_type_) {
      if (native) return false;
      rewriter_.Fail(*no_type_, "Paimon has no type " + tokens_.Render(*no_type_, type_end_));
      return true;
    }
    for (Json& change : changes_)
      rewriter_.tags.emplace_back(std::string(kColumnChangeTag), change.dump());
    if (!native) {
      rewriter_.edits.Replace(start_, tokens_.last(), "SET ('kelda.columns' = 'changed')");
    } else if (duckdb_type_) {
      rewriter_.edits.Replace(type_begin_, type_end_, *duckdb_type_);
    }
    return true;
  }

 private:
  bool Parse() {
    if (Accept("add")) return ParseAdd();
    if (Accept("drop")) return ParseDrop();
    if (Accept("alter")) return ParseAlter();
    if (Accept("change")) return ParseChange();
    return Accept("modify") && ParseModify();
  }

  bool Accept(std::string_view word) {
    if (!tokens_.Is(pos_, word)) return false;
    ++pos_;
    return true;
  }
  template <typename... Words>
  bool AcceptAll(Words... words) {
    if (!tokens_.Are(pos_, words...)) return false;
    pos_ += sizeof...(words);
    return true;
  }
  void AcceptColumnWord() {
    if (tokens_.IsAny(pos_, "column", "columns")) ++pos_;
  }

  bool ParsePath(Path* path) {
    const size_t end = tokens_.EndOfQualifiedName(pos_);
    if (end == pos_) return false;
    path->clear();
    for (size_t i = pos_; i < end; i += 2) path->push_back(tokens_.Identifier(i));
    pos_ = end;
    return true;
  }

  /// `a.b` as `(a.b, c)` too, each by `parse_item`.
  template <typename ParseItem>
  bool ParseItems(ParseItem parse_item) {
    if (!tokens_.IsSymbol(pos_, '(')) return parse_item();
    list_ = true;
    ++pos_;
    while (true) {
      if (!parse_item()) return false;
      if (tokens_.IsSymbol(pos_, ')')) break;
      if (!tokens_.IsSymbol(pos_, ',')) return false;
      ++pos_;
    }
    ++pos_;
    return true;
  }

  bool ParseTypeInto(Json* change) {
    auto parsed = ParseType(tokens_, pos_);
    if (auto* error = std::get_if<RewriteError>(&parsed)) {
      rewriter_.error = std::move(*error);
      return false;
    }
    const auto* type = std::get_if<ParsedType>(&parsed);
    if (type == nullptr) return false;
    if (type->paimon) {
      (*change)["type"] = *type->paimon;
    } else {
      no_type_ = pos_;
    }
    type_begin_ = pos_;
    type_end_ = pos_ = type->end;
    duckdb_type_ = type->duckdb;
    return true;
  }

  /// Whether DuckDB's grammar has the statement too, so that it works on tables of DuckDB: the type
  /// of a column, a member of a column.
  bool IsNative() const {
    if (changes_.size() != 1 || list_) return false;
    const Json& change = changes_[0];
    for (const char* clause : {"nullable", "comment", "after"}) {
      if (change.contains(clause)) return false;
    }
    const bool nested = change["path"].size() > 1;
    return nested ? change["op"] == "add" : change["op"] == "type" && !modify_;
  }

  bool ParseText(std::string* text) {
    if (!tokens_.IsKind(pos_, TokenKind::kString)) return false;
    auto value = StringValue(tokens_.Text(pos_));
    if (!value) return false;
    *text = std::move(*value);
    ++pos_;
    return true;
  }

  bool AtDefault() {
    if (!tokens_.Is(pos_, "default")) return false;
    rewriter_.Fail(pos_, "a column is added without DEFAULT; set the default afterwards");
    return true;
  }

  /// `[NOT NULL | NULL] [COMMENT 'x'] [FIRST | AFTER y]` behind a type, in any order.
  bool ParseClauses(Json* change) {
    std::string text;
    while (tokens_.Has(pos_)) {
      if (AcceptAll("not", "null")) {
        (*change)["nullable"] = false;
      } else if (Accept("null")) {
        (*change)["nullable"] = true;
      } else if (tokens_.Is(pos_, "comment") && tokens_.IsKind(pos_ + 1, TokenKind::kString)) {
        ++pos_;
        if (!ParseText(&text)) return false;
        (*change)["comment"] = text;
      } else if (Accept("first")) {
        (*change)["after"] = "";
      } else if (tokens_.Is(pos_, "after") && tokens_.IsIdentifier(pos_ + 1)) {
        (*change)["after"] = tokens_.Identifier(pos_ + 1);
        pos_ += 2;
      } else {
        return !AtDefault();
      }
    }
    return true;
  }

  bool ParseAdd() {
    AcceptColumnWord();
    const bool if_new = AcceptAll("if", "not", "exists");
    if (tokens_.IsAny(pos_, "constraint", "primary", "unique", "partition", "watermark"))
      return false;
    return ParseItems([&] {
      Path path;
      if (!ParsePath(&path)) return false;
      // DuckDB knows a single new column of the table (RewriteCommand does the rest).
      if (!list_ && path.size() == 1) return false;
      Json change{{"op", "add"}, {"path", path}};
      if (if_new) change["if"] = true;
      if (!ParseTypeInto(&change) || !ParseClauses(&change)) return false;
      changes_.push_back(std::move(change));
      return true;
    });
  }

  bool ParseDrop() {
    AcceptColumnWord();
    const bool if_there = AcceptAll("if", "exists");
    if (tokens_.IsAny(pos_, "constraint", "primary", "partition", "watermark")) return false;
    // DuckDB knows how to drop a single one.
    if (!tokens_.IsSymbol(pos_, '(')) return false;
    return ParseItems([&] {
      Path path;
      if (!ParsePath(&path)) return false;
      Json change{{"op", "drop"}, {"path", path}};
      if (if_there) change["if"] = true;
      changes_.push_back(std::move(change));
      return true;
    });
  }

  /// `ALTER [COLUMN] path what`, as often as there is something.
  bool ParseAlter() {
    AcceptColumnWord();
    Path path;
    if (!ParsePath(&path)) return false;
    do {
      if (!ParseAction(path)) return false;
    } while (tokens_.Has(pos_));
    return true;
  }

  bool ParseAction(const Path& path) {
    const bool nested = path.size() > 1;
    Json change{{"op", ""}, {"path", path}};
    std::string text;
    if (Accept("type") || AcceptAll("set", "data", "type")) {
      change["op"] = "type";
      if (!ParseTypeInto(&change)) return false;
    } else if (nested && (AcceptAll("set", "not", "null") || AcceptAll("drop", "not", "null"))) {
      change["op"] = "nullable";
      change["nullable"] = tokens_.Is(pos_ - 3, "drop");
    } else if (Accept("comment")) {
      if (!ParseText(&text)) return false;
      change["op"] = "comment";
      change["comment"] = text;
    } else if (tokens_.IsAny(pos_, "first", "after")) {
      change["op"] = "move";
      if (!ParseClauses(&change)) return false;
    } else if (nested && AcceptAll("drop", "default")) {
      change["op"] = "default";
    } else if (nested && AcceptAll("set", "default")) {
      change["op"] = "default";
      if (!ParseLiteral(&change)) return false;
    } else {
      // NOT NULL and DEFAULT of a column are in DuckDB's grammar.
      return false;
    }
    changes_.push_back(std::move(change));
    return true;
  }

  bool ParseLiteral(Json* change) {
    std::string text;
    if (Accept("null")) return true;
    if (!ParseText(&text)) {
      if (tokens_.IsSymbol(pos_, '-')) text = "-", ++pos_;
      if (!tokens_.IsKind(pos_, TokenKind::kNumber) && !tokens_.IsAny(pos_, "true", "false"))
        return false;
      text += tokens_.Text(pos_++);
    }
    (*change)["text"] = text;
    return true;
  }

  /// `CHANGE [COLUMN] old new type ...` as in Hive, or what ALTER COLUMN can say.
  bool ParseChange() {
    AcceptColumnWord();
    Path path;
    const size_t begin = pos_;
    if (!ParsePath(&path)) return false;
    if (tokens_.IsAny(pos_, "type", "comment", "first", "after", "set", "drop")) {
      pos_ = begin;
      return ParseAlter();
    }
    if (!tokens_.IsIdentifier(pos_)) return false;
    const std::string new_name = tokens_.Identifier(pos_++);
    if (!ParseColumnAs(path)) return false;
    if (new_name != path.back())
      changes_.push_back({{"op", "rename"}, {"path", path}, {"to", new_name}});
    return true;
  }

  bool ParseModify() {
    AcceptColumnWord();
    if (tokens_.IsAny(pos_, "constraint", "primary", "watermark")) return false;
    return ParseItems([&] {
      Path path;
      return ParsePath(&path) && ParseColumnAs(path);
    });
  }

  /// `type clauses` of a column that is there.
  bool ParseColumnAs(const Path& path) {
    modify_ = true;
    Json type{{"op", "type"}, {"path", path}};
    if (!ParseTypeInto(&type)) return false;
    Json clauses = Json::object();
    if (!ParseClauses(&clauses)) return false;
    if (clauses.contains("nullable")) type["nullable"] = clauses["nullable"];
    changes_.push_back(std::move(type));
    if (clauses.contains("comment"))
      changes_.push_back({{"op", "comment"}, {"path", path}, {"comment", clauses["comment"]}});
    if (clauses.contains("after"))
      changes_.push_back({{"op", "move"}, {"path", path}, {"after", clauses["after"]}});
    return true;
  }

  StatementRewriter& rewriter_;
  const StatementTokens& tokens_;
  const size_t start_;
  size_t pos_;
  std::vector<Json> changes_;
  /// The last type: its tokens, DuckDB's text of it if that differs, where it is if Paimon has
  /// none.
  size_t type_begin_ = 0;
  size_t type_end_ = 0;
  std::optional<std::string> duckdb_type_;
  std::optional<size_t> no_type_;
  bool list_ = false;    ///< items in parentheses
  bool modify_ = false;  ///< CHANGE or MODIFY
};

}  // namespace

bool RewriteAlterColumns(StatementRewriter* rewriter, size_t pos) {
  return AlterRewriter(rewriter, pos).Run();
}

}  // namespace kelda::sql
