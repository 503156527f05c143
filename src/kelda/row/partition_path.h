#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/scalar.h>

#include "kelda/types/data_type.h"

namespace kelda {

struct PartitionPathOptions {
  std::string default_name = "__DEFAULT_PARTITION__";  ///< `partition.default-name`
  bool legacy_name = true;                             ///< `partition.legacy-name`
};

/// Text of a partition value in a path, before escaping (spec 01 §1.6); NULL and blank texts give
/// default_name.
arrow::Result<std::string> PartitionValueText(const DataType& type, const arrow::Scalar& value,
                                              const PartitionPathOptions& options);
std::string EscapePathName(std::string_view text);
std::string UnescapePathName(std::string_view text);
/// `k1=v1/k2=v2/` escaped; empty for no keys.
arrow::Result<std::string> PartitionPath(const std::vector<DataField>& keys,
                                         const std::vector<std::shared_ptr<arrow::Scalar>>& values,
                                         const PartitionPathOptions& options);

/// Text of a value as Paimon's cast to STRING gives it (spec 01 §2.8), used by system tables: DATE
/// 2024-01-31 etc.
arrow::Result<std::string> CastToText(const DataType& type, const arrow::Scalar& value);
/// Value of `text` by Paimon's cast from STRING (defaults, partition specs).
arrow::Result<std::shared_ptr<arrow::Scalar>> CastFromText(const DataType& type,
                                                           std::string_view text);
/// Java's Double.toString / Float.toString.
std::string JavaDoubleText(double value);
std::string JavaFloatText(float value);

}  // namespace kelda
