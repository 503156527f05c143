#include "kelda/scan/live_entries.h"

namespace kelda {

arrow::Result<std::vector<ManifestFileMeta>> ReadDataManifests(const ManifestReader& reader,
                                                               const Snapshot& snapshot) {
  ARROW_ASSIGN_OR_RAISE(auto manifests, reader.ReadList(snapshot.base_manifest_list,
                                                        snapshot.base_manifest_list_size));
  ARROW_ASSIGN_OR_RAISE(
      auto delta, reader.ReadList(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size));
  manifests.insert(manifests.end(), std::make_move_iterator(delta.begin()),
                   std::make_move_iterator(delta.end()));
  return manifests;
}

LiveEntries::LiveEntries(const TableContext& table, std::vector<ManifestFileMeta> manifests,
                         ManifestReader::EntryOptions options, CancellationToken token)
    : table_(&table),
      reader_(table.manifests()),
      manifests_(std::move(manifests)),
      options_(std::move(options)),
      token_(std::move(token)) {}

/// The DELETE entries come from a pass of their own over the few manifests that have any, so that
/// ADD entries can be judged, and dropped, as they stream by.
arrow::Result<LiveEntries> LiveEntries::Open(const TableContext& table,
                                             std::vector<ManifestFileMeta> manifests,
                                             ManifestReader::EntryOptions options,
                                             CancellationToken token) {
  LiveEntries live(table, std::move(manifests), std::move(options), std::move(token));
  std::vector<const ManifestFileMeta*> with_deletes;
  for (const auto& manifest : live.manifests_) {
    if (manifest.num_deleted_files > 0) with_deletes.push_back(&manifest);
  }
  std::vector<std::unordered_set<std::string>> parts(with_deletes.size());
  ManifestReader::EntryOptions only_deletes = live.options_;
  only_deletes.value_stats = false;
  only_deletes.only_deletes = true;
  ARROW_RETURN_NOT_OK(ParallelFor(
      *table.env.executor, static_cast<int64_t>(with_deletes.size()), live.token_, [&](int64_t i) {
        return live.reader_.ReadEntries(*with_deletes[i], only_deletes,
                                        [&, i](ManifestEntry&& entry) {
                                          parts[i].insert(entry.Identity());
                                          return live.token_.Check();
                                        });
      }));
  for (auto& part : parts) live.deletes_.merge(part);
  return live;
}

arrow::Status LiveEntries::ForEach(
    int64_t begin, int64_t end,
    const std::function<arrow::Status(int64_t, ManifestEntry&&)>& sink) const {
  return ParallelFor(*table_->env.executor, end - begin, token_, [&](int64_t offset) {
    const int64_t i = begin + offset;
    return reader_.ReadEntries(manifests_[i], options_,
                               [&, i](ManifestEntry&& entry) -> arrow::Status {
                                 ARROW_RETURN_NOT_OK(token_.Check());
                                 if (entry.kind != EntryKind::kAdd) return arrow::Status::OK();
                                 if (!deletes_.empty() && deletes_.contains(entry.Identity()))
                                   return arrow::Status::OK();
                                 return sink(i, std::move(entry));
                               });
  });
}

}  // namespace kelda
