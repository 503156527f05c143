#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kelda/types/arrow_mapping.h"
#include "kelda/types/table_schema.h"

// Schema files: an error, or a schema that prints to a text which reads back to the same text.

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto schema =
      kelda::TableSchema::FromJsonText({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!schema.ok()) return 0;
  const std::string text = schema->ToJsonText();
  const auto again = kelda::TableSchema::FromJsonText(text, "fuzz");
  if (!again.ok() || again->ToJsonText() != text) std::abort();
  if (!kelda::ToArrowSchema(schema->fields).ok()) std::abort();
  return 0;
}
