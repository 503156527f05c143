#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "kelda/metadata/table_context.h"

namespace kelda {

/// Progress of a streaming reader (spec 01 §8.3): expiry keeps the snapshots from `next_snapshot`
/// on. Plain value; members that this version does not know survive a rewrite.
struct Consumer {
  int64_t next_snapshot = 0;
  nlohmann::ordered_json unknown = nlohmann::ordered_json::object();

  std::string ToJsonText() const;
  static arrow::Result<Consumer> FromJsonText(std::string_view text, std::string_view source_name);
};

/// Ids of the consumers of the table's branch, in no particular order.
arrow::Result<std::vector<std::string>> ListConsumers(const TableContext& table);
/// kNotFound when there is no such consumer.
arrow::Result<Consumer> ReadConsumer(const TableContext& table, const std::string& id);

}  // namespace kelda
