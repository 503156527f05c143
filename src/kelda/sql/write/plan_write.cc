#include "duckdb/execution/operator/projection/physical_projection.hpp"
#include "duckdb/planner/expression/bound_cast_expression.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/operator/logical_create_table.hpp"
#include "duckdb/planner/operator/logical_delete.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/operator/logical_insert.hpp"
#include "duckdb/planner/operator/logical_merge_into.hpp"
#include "duckdb/planner/operator/logical_update.hpp"

#include "kelda/sql/catalog/create_table.h"
#include "kelda/sql/catalog/paimon_catalog.h"
#include "kelda/sql/parser/create_table_contract.h"
#include "kelda/sql/scan/scan_data.h"
#include "kelda/sql/types/logical_type.h"
#include "kelda/sql/types/status_exception.h"
#include "kelda/sql/write/paimon_insert.h"

namespace kelda::sql {

namespace {

/// Tables have no order of their own, so rows may be written by all threads at once, unless the
/// query asks for an order.
bool KeepsOrder(duckdb::PhysicalOperator& plan) {
  return duckdb::PhysicalPlanGenerator::OrderPreservationRecursive(plan) ==
         duckdb::OrderPreservationType::FIXED_ORDER;
}

/// What has no equal in Paimon is stored in a wider type (HUGEINT in DECIMAL(38, 0), UUID in
/// STRING): the rows have to be cast to it.
duckdb::PhysicalOperator& CastToPaimonTypes(duckdb::ClientContext& context,
                                            duckdb::PhysicalPlanGenerator& planner,
                                            const duckdb::CreateTableInfo& info,
                                            const std::string& database,
                                            duckdb::PhysicalOperator& plan) {
  // No row comes from the other table.
  if (info.tags.contains(std::string(kLikeTag))) return plan;
  auto definition = ToTableDefinition(info);
  if (!definition.ok()) {
    ThrowError(WithContext(definition.status(), fmt::format("table {}.{}", database, info.table)));
  }
  duckdb::vector<duckdb::LogicalType> types;
  for (const DataField& field : definition->fields)
    types.push_back(ValueOrThrow(ToLogicalType(field.type, field.name)));
  if (types == plan.types) return plan;
  duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> casts;
  for (size_t i = 0; i < types.size(); ++i) {
    casts.push_back(duckdb::BoundCastExpression::AddCastToType(
        context, duckdb::make_uniq<duckdb::BoundReferenceExpression>(plan.types[i], i), types[i]));
  }
  auto& projection = planner.Make<duckdb::PhysicalProjection>(std::move(types), std::move(casts),
                                                              plan.estimated_cardinality);
  projection.children.push_back(plan);
  return projection;
}

PaimonTableEntry& WritableEntry(duckdb::TableCatalogEntry& table, std::string_view what) {
  auto* entry = dynamic_cast<PaimonTableEntry*>(&table);
  if (entry != nullptr && entry->source().travels) {
    ThrowError(
        Invalid("table {}: {} is not possible in an old snapshot", entry->table()->name, what));
  }
  if (entry != nullptr) return *entry;
  ThrowError(Invalid("{} is a system table: {} is not possible", table.name, what));
}

}  // namespace

duckdb::PhysicalOperator& PaimonCatalog::PlanInsert(
    duckdb::ClientContext&, duckdb::PhysicalPlanGenerator& planner, duckdb::LogicalInsert& op,
    duckdb::optional_ptr<duckdb::PhysicalOperator> plan) {
  auto& entry = WritableEntry(op.table, "INSERT");
  if (op.return_chunk)
    ThrowError(Unsupported("INSERT ... RETURNING into table {}", entry.table()->name));
  if (op.on_conflict_info.action_type != duckdb::OnConflictAction::THROW) {
    ThrowError(Unsupported("INSERT ... ON CONFLICT into table {}", entry.table()->name));
  }
  ThrowIfError(entry.table()->CheckWritable());
  if (!op.column_index_map.empty()) plan = planner.ResolveDefaultsProjection(op, *plan);
  const bool keep_order = KeepsOrder(*plan);
  auto& insert = planner.Make<PaimonInsert>(op.types, entry, op.estimated_cardinality, keep_order);
  insert.children.push_back(*plan);
  return insert;
}

duckdb::PhysicalOperator& PaimonCatalog::PlanCreateTableAs(duckdb::ClientContext& context,
                                                           duckdb::PhysicalPlanGenerator& planner,
                                                           duckdb::LogicalCreateTable& op,
                                                           duckdb::PhysicalOperator& plan) {
  RequireAutocommit(context, "CREATE TABLE AS");
  auto& schema = op.schema.Cast<PaimonSchemaEntry>();
  auto& source = CastToPaimonTypes(context, planner, op.info->Base(), schema.name, plan);
  const bool keep_order = KeepsOrder(source);
  auto& insert = planner.Make<PaimonInsert>(op.types, schema, std::move(op.info),
                                            op.estimated_cardinality, keep_order);
  insert.children.push_back(source);
  return insert;
}

duckdb::PhysicalOperator& PaimonCatalog::PlanDelete(duckdb::ClientContext&,
                                                    duckdb::PhysicalPlanGenerator& planner,
                                                    duckdb::LogicalDelete& op) {
  auto& entry = WritableEntry(op.table, "DELETE");
  const std::string& name = entry.table()->name;
  if (op.return_chunk) ThrowError(Unsupported("DELETE ... RETURNING from table {}", name));
  // All rows, nothing else: TRUNCATE arrives like this too. The optimizer may have moved a filter
  // into the scan and away from the plan, so the scan is asked.
  const auto& child = *op.children[0];
  const bool everything = child.type == duckdb::LogicalOperatorType::LOGICAL_GET &&
                          child.children.empty() &&
                          child.Cast<duckdb::LogicalGet>().table_filters.filters.empty() &&
                          !child.Cast<duckdb::LogicalGet>().bind_data->Cast<ScanData>().filtered();
  if (!everything) ThrowError(Unsupported("DELETE with a condition from table {}", name));
  ThrowIfError(entry.table()->CheckWritable());
  return planner.Make<PaimonTruncate>(op.types, entry);
}

duckdb::PhysicalOperator& PaimonCatalog::PlanDelete(duckdb::ClientContext&,
                                                    duckdb::PhysicalPlanGenerator&,
                                                    duckdb::LogicalDelete& op,
                                                    duckdb::PhysicalOperator&) {
  ThrowError(Unsupported("DELETE from table {}", op.table.name));
}

duckdb::PhysicalOperator& PaimonCatalog::PlanUpdate(duckdb::ClientContext&,
                                                    duckdb::PhysicalPlanGenerator&,
                                                    duckdb::LogicalUpdate& op,
                                                    duckdb::PhysicalOperator&) {
  ThrowError(Unsupported("UPDATE of table {}", op.table.name));
}

duckdb::PhysicalOperator& PaimonCatalog::PlanMergeInto(duckdb::ClientContext&,
                                                       duckdb::PhysicalPlanGenerator&,
                                                       duckdb::LogicalMergeInto& op,
                                                       duckdb::PhysicalOperator&) {
  ThrowError(Unsupported("MERGE INTO table {}", op.table.name));
}

}  // namespace kelda::sql
