#pragma once

#include <optional>

#include "duckdb/function/table_function.hpp"

#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/table_context.h"

namespace kelda::sql {

/// The table function `paimon_scan` that reads one snapshot of a Paimon table: what
/// TableCatalogEntry::GetScanFunction returns, together with BindPaimonScan. It has no bind
/// function.
duckdb::TableFunction MakePaimonScan();

/// Bind data of a scan of `pinned` (nullopt: the table has no snapshot, the scan is empty). `table`
/// is the context whose schema the columns have (ContextForSnapshot for time travel); its options
/// must have passed CheckReadable. Columns are those of the schema, in order, of the types of
/// ToLogicalType. Reads no manifest: that happens when the optimizer or the execution needs it.
duckdb::unique_ptr<duckdb::FunctionData> BindPaimonScan(TableContextPtr table,
                                                        std::optional<Snapshot> pinned);

/// Virtual columns of a Paimon table, for TableCatalogEntry::GetVirtualColumns: only the empty one
/// that count(*) reads. GetRowIdColumns must not name a rowid.
duckdb::virtual_column_map_t PaimonVirtualColumns();

/// What the catalog may want to add to the bind data: the entry that DuckDB shows and the optimizer
/// asks for.
void SetTableEntry(duckdb::FunctionData& bind_data, duckdb::TableCatalogEntry& entry);

}  // namespace kelda::sql
