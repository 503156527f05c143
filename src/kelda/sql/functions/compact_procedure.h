#pragma once

#include "kelda/sql/functions/procedure.h"

namespace kelda::sql {

/// `CALL sys.compact(table, partitions, compact_strategy, order_strategy, order_by, where, options,
/// partition_idle_time)` (spec 03 §7.11, §8.1).
Procedure MakeCompactProcedure();

}  // namespace kelda::sql
