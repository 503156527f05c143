#pragma once

#include <map>
#include <string>
#include <vector>

#include "kelda/base/status.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// Avro schema of a data file with these columns, byte for byte as Java writes it into the header
/// (spec 01 §4.3). `row_names` gives records another full name (`avro.row-name-mapping`). What Avro
/// files cannot hold is an error that names the column and the reason.
arrow::Result<std::string> AvroSchemaOf(const std::vector<DataField>& fields,
                                        const std::map<std::string, std::string>& row_names = {});

/// Whether AvroSchemaOf succeeds.
arrow::Status CheckAvroTypes(const std::vector<DataField>& fields);

}  // namespace kelda
