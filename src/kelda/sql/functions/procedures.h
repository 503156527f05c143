#pragma once

#include <functional>
#include <string>

#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"

namespace kelda::sql {

/// `CALL sys.<name>(...)`: the table function of a procedure, null for names that Paimon does not
/// have. Paimon's procedures that are not built throw "not implemented" by name (spec 03 §8).
/// `remember` keeps the entry alive.
duckdb::optional_ptr<duckdb::CatalogEntry> LookupProcedure(
    duckdb::SchemaCatalogEntry& schema, const std::string& name,
    const std::function<duckdb::optional_ptr<duckdb::CatalogEntry>(
        std::string, duckdb::unique_ptr<duckdb::CatalogEntry>)>& remember);

}  // namespace kelda::sql
