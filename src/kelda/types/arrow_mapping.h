#pragma once

#include <memory>

#include <arrow/type.h>

#include "kelda/types/data_type.h"

namespace kelda {

/// Arrow form of Paimon values inside Kelda (spec 04 §4.1):
///   BOOLEAN bool; TINYINT/SMALLINT/INT/BIGINT int8/16/32/64; FLOAT/DOUBLE float32/64; DECIMAL(p,s)
///   decimal128(p,s); CHAR/VARCHAR utf8; BINARY/VARBINARY/BLOB binary; DATE date32; TIME(p)
///   time32[ms]; TIMESTAMP(p): p 0 timestamp[s], 1-3 [ms], 4-6 [us], 7-9 [ns]; TIMESTAMP_LTZ(p) the
///   same with zone "UTC"; ARRAY list<element>; MAP map<key, value>; MULTISET<e> map<e, int32 not
///   null>; ROW struct; VARIANT struct<value: binary not null, metadata: binary not null>; VECTOR
///   fixed_size_list.
/// timestamp[ns] cannot hold instants outside 1677-09-21..2262-04-11; such values are an error,
/// never wrapped. Child names: list "element", map "key"/"value". Nullability follows the type (map
/// keys are never null).
arrow::Result<std::shared_ptr<arrow::DataType>> ToArrowType(const DataType& type);
/// Field with metadata `PARQUET:field_id` = field.id when id >= 0; nested fields and the unnamed
/// children (element, key, value: spec 01 §2.6) carry theirs too.
arrow::Result<std::shared_ptr<arrow::Field>> ToArrowField(const DataField& field);
arrow::Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const std::vector<DataField>& fields);

/// Paimon type for an Arrow type that comes from outside (CTAS, C ABI). Accepts large_, view,
/// dictionary-encoded and fixed-size binary types, unsigned integers widen to the next signed one
/// (uint64 -> DECIMAL(20, 0)), decimal256 up to 38 digits, any timestamp unit. What has no Paimon
/// type is Unsupported, named.
arrow::Result<DataType> FromArrowType(const arrow::DataType& type, bool nullable = true);

}  // namespace kelda
