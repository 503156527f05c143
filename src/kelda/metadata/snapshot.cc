#include "kelda/metadata/snapshot.h"

#include "kelda/metadata/json_members.h"
#include "kelda/types/table_schema.h"

namespace kelda {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string_view ToString(CommitKind kind) {
  switch (kind) {
    case CommitKind::kAppend:
      return "APPEND";
    case CommitKind::kCompact:
      return "COMPACT";
    case CommitKind::kOverwrite:
      return "OVERWRITE";
    case CommitKind::kAnalyze:
      return "ANALYZE";
  }
  return "APPEND";
}

arrow::Result<CommitKind> ParseCommitKind(std::string_view text) {
  for (CommitKind kind :
       {CommitKind::kAppend, CommitKind::kCompact, CommitKind::kOverwrite, CommitKind::kAnalyze}) {
    if (text == ToString(kind)) return kind;
  }
  return Invalid("unknown commit kind '{}'", text);
}

std::string Snapshot::ToJsonText() const {
  Json json = Json::object();
  auto put = [&json](const char* key, const auto& optional) {
    if (optional) json[key] = *optional;
  };
  json["version"] = version;
  json["id"] = id;
  json["schemaId"] = schema_id;
  json["baseManifestList"] = base_manifest_list;
  put("baseManifestListSize", base_manifest_list_size);
  json["deltaManifestList"] = delta_manifest_list;
  put("deltaManifestListSize", delta_manifest_list_size);
  put("changelogManifestList", changelog_manifest_list);
  put("changelogManifestListSize", changelog_manifest_list_size);
  put("indexManifest", index_manifest);
  json["commitUser"] = commit_user;
  json["commitIdentifier"] = commit_identifier;
  json["commitKind"] = std::string(ToString(commit_kind));
  json["timeMillis"] = time_millis;
  json["totalRecordCount"] = total_record_count;
  json["deltaRecordCount"] = delta_record_count;
  put("changelogRecordCount", changelog_record_count);
  put("watermark", watermark);
  put("statistics", statistics);
  if (!properties.empty()) json["properties"] = properties;
  put("nextRowId", next_row_id);
  put("operation", operation);
  for (const auto& [key, value] : unknown.items()) json[key] = value;
  return PrettyJson(json);
}

arrow::Result<Snapshot> Snapshot::FromJsonText(std::string_view text, std::string_view source) {
  ARROW_ASSIGN_OR_RAISE(Json json, ParseBoundedJson(text, source));
  if (!json.is_object()) {
    return Corruption("corrupt snapshot file '{}': not a JSON object ({} bytes)", source,
                      text.size());
  }
  JsonMembers members(json, "snapshot", source);
  Snapshot s;
  ARROW_ASSIGN_OR_RAISE(int64_t version, members.Int("version", 0));
  s.version = static_cast<int32_t>(version);
  ARROW_ASSIGN_OR_RAISE(s.id, members.Int("id"));
  ARROW_ASSIGN_OR_RAISE(s.schema_id, members.Int("schemaId"));
  ARROW_ASSIGN_OR_RAISE(s.base_manifest_list, members.Text("baseManifestList"));
  ARROW_ASSIGN_OR_RAISE(s.base_manifest_list_size, members.OptionalInt("baseManifestListSize"));
  ARROW_ASSIGN_OR_RAISE(s.delta_manifest_list, members.Text("deltaManifestList"));
  ARROW_ASSIGN_OR_RAISE(s.delta_manifest_list_size, members.OptionalInt("deltaManifestListSize"));
  ARROW_ASSIGN_OR_RAISE(s.changelog_manifest_list, members.OptionalText("changelogManifestList"));
  ARROW_ASSIGN_OR_RAISE(s.changelog_manifest_list_size,
                        members.OptionalInt("changelogManifestListSize"));
  ARROW_ASSIGN_OR_RAISE(s.index_manifest, members.OptionalText("indexManifest"));
  ARROW_ASSIGN_OR_RAISE(s.commit_user, members.Text("commitUser"));
  ARROW_ASSIGN_OR_RAISE(s.commit_identifier, members.Int("commitIdentifier"));
  ARROW_ASSIGN_OR_RAISE(std::string kind, members.Text("commitKind"));
  auto parsed_kind = ParseCommitKind(kind);
  if (!parsed_kind.ok()) return members.Bad("commitKind");
  s.commit_kind = *parsed_kind;
  ARROW_ASSIGN_OR_RAISE(s.time_millis, members.Int("timeMillis"));
  // Very old releases wrote neither count.
  ARROW_ASSIGN_OR_RAISE(s.total_record_count, members.Int("totalRecordCount", 0));
  ARROW_ASSIGN_OR_RAISE(s.delta_record_count, members.Int("deltaRecordCount", 0));
  ARROW_ASSIGN_OR_RAISE(s.changelog_record_count, members.OptionalInt("changelogRecordCount"));
  ARROW_ASSIGN_OR_RAISE(s.watermark, members.OptionalInt("watermark"));
  ARROW_ASSIGN_OR_RAISE(s.statistics, members.OptionalText("statistics"));
  if (const Json* properties = members.Find("properties")) {
    if (!properties->is_object()) return members.Bad("properties");
    for (const auto& [key, value] : properties->items()) {
      if (!value.is_string()) return members.Bad("properties");
      s.properties[key] = value.get<std::string>();
    }
  }
  ARROW_ASSIGN_OR_RAISE(s.next_row_id, members.OptionalInt("nextRowId"));
  ARROW_ASSIGN_OR_RAISE(s.operation, members.OptionalText("operation"));
  s.unknown = members.Unknown();
  if (s.id <= 0) return members.Bad("id");
  return s;
}

}  // namespace kelda
