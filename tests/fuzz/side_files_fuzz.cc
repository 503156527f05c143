// JSON side files: snapshots, tags, consumers, table statistics. What parses must print to
// something that parses to the same text again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kelda/metadata/consumer.h"
#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/table_statistics.h"
#include "kelda/metadata/tag.h"

namespace {

template <typename File>
void TryFile(std::string_view text) {
  auto parsed = File::FromJsonText(text, "fuzz");
  if (!parsed.ok()) return;
  const std::string printed = parsed->ToJsonText();
  auto again = File::FromJsonText(printed, "fuzz");
  if (!again.ok() || again->ToJsonText() != printed) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      TryFile<kelda::Snapshot>(text);
      break;
    case 1:
      TryFile<kelda::Tag>(text);
      break;
    case 2:
      TryFile<kelda::Consumer>(text);
      break;
    case 3:
      TryFile<kelda::TableStatistics>(text);
      break;
    default:
      if (auto duration = kelda::ParseDurationText(text)) {
        if (kelda::ParseDurationText(kelda::DurationText(*duration)) != duration) std::abort();
      }
  }
  return 0;
}
