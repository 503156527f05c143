#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/io/file_io.h"
#include "kelda/scan/plan.h"

namespace kelda {

/// Clock that never waits: sleeping moves it.
class JumpingClock : public Clock {
 public:
  int64_t NowMillis() override { return now_.fetch_add(1); }
  void Sleep(std::chrono::milliseconds duration) override { now_ += duration.count(); }

 private:
  std::atomic<int64_t> now_{1'700'000'000'000};
};

/// A table `default.t (id INT, pt STRING) PARTITIONED BY (pt)` on `io`, made if missing.
arrow::Result<TableContextPtr> OpenTestTable(
    std::shared_ptr<FileIO> io, const std::map<std::string, std::string>& options = {});

/// A message that adds a file of `rows` rows to partition `pt`. The file itself is written too
/// (with any bytes), because abort and recovery look at it.
arrow::Result<CommitMessage> NewFileMessage(const TableContext& table, const std::string& pt,
                                            const std::string& file_name, int64_t rows);

/// Names of all live files of the newest snapshot, after checking that every snapshot on the way is
/// readable, that ids have no gap and that counts agree with the entries.
arrow::Result<std::multiset<std::string>> CheckedLiveFiles(const TableContext& table);

}  // namespace kelda
