#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kelda/types/data_type.h"

namespace kelda {

/// One version of a table's schema (spec 01 §2.1). Plain value; share as shared_ptr<const
/// TableSchema>.
struct TableSchema {
  int32_t version = 3;
  int64_t id = 0;
  std::vector<DataField> fields;
  int32_t highest_field_id = -1;
  std::vector<std::string> partition_keys;
  std::vector<std::string> primary_keys;
  std::map<std::string, std::string> options;
  /// Order of the option keys in the file this was read from (Java writes a hash map's order);
  /// options missing here are printed after these, by key. Not part of the meaning.
  std::vector<std::string> option_order;
  std::optional<std::string> comment;
  int64_t time_millis = 0;
  /// Keys of the file that this version does not know, kept for a rewrite.
  nlohmann::ordered_json unknown = nlohmann::ordered_json::object();
  /// The same of the field objects, nested ones included, by field id.
  std::map<int32_t, nlohmann::ordered_json> unknown_of_fields;

  int FieldIndex(std::string_view name) const;  ///< -1 if absent; exact case
  std::vector<DataField> PartitionFields() const;
  std::string Option(const std::string& key, std::string_view default_value = "") const;

  /// Pretty JSON as Jackson prints it (two-space indent, `"key" : value`, inline arrays), keys in
  /// the order of §2.1.
  std::string ToJsonText() const;
  /// `source_name` goes into errors. Applies the version rules of §2.1; a version > 3 is refused.
  static arrow::Result<TableSchema> FromJsonText(std::string_view text,
                                                 std::string_view source_name);
};

/// Jackson-style pretty printing used for schema and snapshot files.
std::string PrettyJson(const nlohmann::ordered_json& json);

/// Parse JSON from outside into a value: nesting is at most 256 levels and an object has at most
/// 65536 members, so that neither the stack nor the time can be exhausted. Corruption with
/// `source_name` otherwise; never throws.
arrow::Result<nlohmann::ordered_json> ParseBoundedJson(std::string_view text,
                                                       std::string_view source_name);

}  // namespace kelda
