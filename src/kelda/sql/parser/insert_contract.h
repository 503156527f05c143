#pragma once

#include "kelda/sql/parser/table_name_suffix.h"

// How INSERT OVERWRITE and INSERT ... PARTITION reach the catalog. The front parser makes a plain
// INSERT whose target carries a suffix (table_name_suffix.h); DuckDB binds and plans it like any
// other, with parameters and EXPLAIN.
//
//   INSERT OVERWRITE t SELECT ...                             INSERT INTO "t$overwrite{}" SELECT
//   ... INSERT OVERWRITE t PARTITION (dt='x', h) SELECT ...       INSERT INTO
//   "t$overwrite{"partition":{"dt":"x"},
//                                                               "dynamic":["h"],"staticColumnsLast":true}"
//                                                             SELECT *, 'x' FROM (SELECT ...)
//   INSERT OVERWRITE t PARTITION (dt='x') (a, b) SELECT ...   INSERT INTO
//   "t$overwrite{"partition":{"dt":"x"}}" (a, b, "dt")
//                                                             SELECT *, 'x' FROM (SELECT ...)
//   INSERT INTO t PARTITION (dt='x') VALUES (1, 2)            INSERT INTO
//   "t$insert{"partition":{"dt":"x"},
//                                                               "staticColumnsLast":true}" VALUES
//                                                               (1, 2, 'x')
//   INSERT INTO t PARTITION (dt='x') (a, b) SELECT ...        INSERT INTO t (a, b, "dt") SELECT *,
//   'x' FROM (SELECT ...)
//
// The table lookup decodes the name (DecodeTableName) and returns an entry for the base table that
// carries `InsertTarget`. Its duties:
//   - `static_columns_last`: the entry shows its columns as the table's order without those of
//   `static_partition`,
//     followed by them in the order of `static_partition`; the sink maps columns by name. Where the
//     static columns are the last of the table in the same order, this is the table's own order.
//   - `overwrite`: the INSERT becomes an OVERWRITE snapshot. With `static_partition` it replaces
//   the partitions that
//     match, otherwise all or, with dynamic-partition-overwrite, those that the rows belong to
//     (spec 04 §7.1).
//   - Names in `static_partition` and `dynamic_partition` must be partition columns; the values
//   arrive in the rows too.
