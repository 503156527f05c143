#include "kelda/sql/functions/procedures.h"

#include <algorithm>
#include <array>

#include "duckdb/common/string_util.hpp"

#include "kelda/base/status.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

/// Procedures of Paimon 1.4.2 in Spark and Flink (spec 03 §8.1, §8.2).
constexpr std::array kKnownProcedures = {"alter_column_default_value",
                                         "alter_function",
                                         "alter_view_dialect",
                                         "clear_consumers",
                                         "compact",
                                         "compact_database",
                                         "compact_manifest",
                                         "copy",
                                         "create_branch",
                                         "create_function",
                                         "create_global_index",
                                         "create_tag",
                                         "create_tag_from_timestamp",
                                         "create_tag_from_watermark",
                                         "delete_branch",
                                         "delete_tag",
                                         "drop_function",
                                         "drop_global_index",
                                         "drop_partition",
                                         "expire_changelogs",
                                         "expire_partitions",
                                         "expire_snapshots",
                                         "expire_tags",
                                         "fast_forward",
                                         "mark_partition_done",
                                         "merge_into",
                                         "migrate_database",
                                         "migrate_file",
                                         "migrate_iceberg_table",
                                         "migrate_table",
                                         "purge_files",
                                         "query_service",
                                         "refresh_object_table",
                                         "remove_orphan_files",
                                         "remove_unexisting_files",
                                         "remove_unexisting_manifests",
                                         "rename_branch",
                                         "rename_tag",
                                         "repair",
                                         "replace_tag",
                                         "rescale",
                                         "reset_consumer",
                                         "rewrite_file_index",
                                         "rollback",
                                         "rollback_to",
                                         "rollback_to_timestamp",
                                         "rollback_to_watermark",
                                         "trigger_tag_automatic_creation"};

}  // namespace

duckdb::optional_ptr<duckdb::CatalogEntry> LookupProcedure(
    duckdb::SchemaCatalogEntry&, const std::string& name,
    const std::function<duckdb::optional_ptr<duckdb::CatalogEntry>(
        std::string, duckdb::unique_ptr<duckdb::CatalogEntry>)>&) {
  const std::string lower = duckdb::StringUtil::Lower(name);
  const bool known = std::any_of(kKnownProcedures.begin(), kKnownProcedures.end(),
                                 [&](const char* procedure) { return lower == procedure; });
  if (known) ThrowError(Unsupported("procedure sys.{}", lower));
  return nullptr;
}

}  // namespace kelda::sql
