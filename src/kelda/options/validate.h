#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/status.h>

namespace kelda {

/// What a table is about to be used for. kCreate stands for CREATE TABLE and ALTER TABLE: it checks
/// every option and refuses what reading or writing would.
enum class OptionUse { kCreate, kWrite, kRead };

/// Check the options of a table before it is used: a wrong value is Invalid, a value that is not
/// implemented and matters to `use` is refused by name (Unsupported), the scan and retention rules
/// of spec 04 §3.2 hold. Options that nobody looks at for `use` are not checked. Rules that need
/// the columns are the schema's, see ColumnsNamedBy. Unknown keys are fine and give a warning with
/// the nearest known key; `warnings` may be null.
arrow::Status CheckTableOptions(const std::map<std::string, std::string>& options, OptionUse use,
                                std::vector<std::string>* warnings);

/// The same for the options of a catalog.
arrow::Status CheckCatalogOptions(const std::map<std::string, std::string>& options,
                                  std::vector<std::string>* warnings);

/// Whether `key` may be set to `new_value` (nothing: be removed) in a table that has `options` now:
/// fixed options and those with a rule of their own (spec 04 §1.2, §1.4) stay once there is a
/// snapshot. Setting what is set already is always fine. The resulting options are then checked
/// with CheckTableOptions.
arrow::Status CheckAlterOption(const std::map<std::string, std::string>& options,
                               std::string_view key, std::optional<std::string_view> new_value,
                               bool has_snapshot);

}  // namespace kelda
