#include "kelda/metadata/consumer.h"

#include "kelda/metadata/json_members.h"
#include "kelda/types/table_schema.h"

namespace kelda {

namespace {

constexpr std::string_view kPrefix = "consumer-";
constexpr int64_t kConsumerFileMaxBytes = 1 << 20;

std::string ConsumerDir(const TableContext& table) {
  return table.paths.branch_root() + "/consumer";
}

}  // namespace

std::string Consumer::ToJsonText() const {
  auto json = nlohmann::ordered_json::object();
  json["nextSnapshot"] = next_snapshot;
  for (const auto& [key, value] : unknown.items()) json[key] = value;
  return PrettyJson(json);
}

arrow::Result<Consumer> Consumer::FromJsonText(std::string_view text, std::string_view source) {
  ARROW_ASSIGN_OR_RAISE(auto json, ParseBoundedJson(text, source));
  if (!json.is_object()) return Corruption("corrupt consumer file '{}': no JSON object", source);
  JsonMembers members(json, "consumer", source);
  Consumer consumer;
  ARROW_ASSIGN_OR_RAISE(consumer.next_snapshot, members.Int("nextSnapshot"));
  consumer.unknown = members.Unknown();
  return consumer;
}

arrow::Result<std::vector<std::string>> ListConsumers(const TableContext& table) {
  ARROW_ASSIGN_OR_RAISE(auto files, table.env.io->List(ConsumerDir(table)));
  std::vector<std::string> ids;
  for (const FileInfo& file : files) {
    if (!file.is_dir && file.name.size() > kPrefix.size() && file.name.starts_with(kPrefix))
      ids.push_back(file.name.substr(kPrefix.size()));
  }
  return ids;
}

arrow::Result<Consumer> ReadConsumer(const TableContext& table, const std::string& id) {
  if (id.empty() || id.find('/') != std::string::npos)
    return NotFound("table {}: there is no consumer '{}'", table.name, id);
  const std::string path = JoinPath(ConsumerDir(table), fmt::format("{}{}", kPrefix, id));
  ARROW_ASSIGN_OR_RAISE(std::string text, table.env.io->ReadAll(path, kConsumerFileMaxBytes));
  return Consumer::FromJsonText(text, path);
}

}  // namespace kelda
