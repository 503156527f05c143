#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "duckdb/common/types/value.hpp"
#include "duckdb/main/client_context.hpp"

#include "kelda/base/cancellation.h"
#include "kelda/catalog/catalog.h"
#include "kelda/sql/catalog/paimon_catalog.h"
#include "kelda/sql/session/statement_progress.h"
#include "kelda/types/predicate.h"

namespace kelda::sql {

/// One CALL under way. Errors are thrown.
class ProcedureCall {
 public:
  ProcedureCall(duckdb::ClientContext& context, PaimonCatalog& catalog,
                std::map<std::string, duckdb::Value> arguments, CancellationToken token)
      : context_(context),
        catalog_(catalog),
        arguments_(std::move(arguments)),
        token_(std::move(token)) {}

  duckdb::ClientContext& context() const { return context_; }
  PaimonCatalog& catalog() const { return catalog_; }
  const CancellationToken& token() const { return token_; }
  StatementProgress& progress() const { return *StatementProgress::Of(context_); }

  /// An argument as text; NULL and blank text count as not given.
  std::optional<std::string> Text(const std::string& name) const;
  /// The table or branch that argument `name` names: `db.t`, `t` in the current database, both with
  /// `$branch_b` if wanted. Case is SQL's.
  Identifier TableOf(const std::string& name) const;

 private:
  duckdb::ClientContext& context_;
  PaimonCatalog& catalog_;
  std::map<std::string, duckdb::Value> arguments_;
  CancellationToken token_;
};

using ProcedureRow = std::vector<duckdb::Value>;

/// A procedure `sys.<name>` (spec 03 §8.1): arguments by position or by name.
struct Procedure {
  struct Argument {
    std::string name;
    duckdb::LogicalType type;
    bool required = false;
  };
  struct Column {
    std::string name;
    duckdb::LogicalType type;
  };
  std::string name;
  std::vector<Argument> arguments;  ///< in Spark's order
  std::vector<Column> result;
  std::function<std::vector<ProcedureRow>(const ProcedureCall&)> run;
};

/// `k=v,k=v` of an argument `options`.
std::map<std::string, std::string> ParseOptionsArgument(const std::string& text);

/// `k=v,k=v;k=v`, comma AND, semicolon OR, over partition columns.
PredicatePtr ParsePartitionsArgument(const TableContext& table, const std::string& text);

/// The partitions of the table that SQL condition `where`, over partition columns only, is true
/// for, as a predicate; false for all if there is none.
PredicatePtr PartitionsWhere(const ProcedureCall& call, const Identifier& id,
                             const TableContext& table, const std::string& where);

}  // namespace kelda::sql
