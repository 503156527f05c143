#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/scalar.h>
#include <nlohmann/json.hpp>

#include "kelda/types/data_type.h"

namespace kelda {

/// Lines of a file under tests/data.
std::vector<nlohmann::ordered_json> ReadJsonLines(const std::string& path);

/// Value of the JSON form that the test vectors use: numbers, "NaN", hex for bytes, ISO texts for
/// times, arrays of pairs for maps.
std::shared_ptr<arrow::Scalar> ScalarFromJson(const DataType& type,
                                              const nlohmann::ordered_json& json);

}  // namespace kelda
