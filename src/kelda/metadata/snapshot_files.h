#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kelda/base/clock.h"
#include "kelda/io/file_io.h"
#include "kelda/metadata/snapshot.h"
#include "kelda/metadata/table_paths.h"

namespace kelda {

/// Finds and reads the snapshots and tags of one branch of a table (spec 01 §1.3, 03 §1). Stateless
/// besides its dependencies; thread-safe.
class SnapshotFiles {
 public:
  SnapshotFiles(std::shared_ptr<FileIO> io, TablePaths paths,
                std::shared_ptr<Clock> clock = Clock::System())
      : io_(std::move(io)), paths_(std::move(paths)), clock_(std::move(clock)) {}

  /// Newest snapshot id: the LATEST hint when snapshot-(hint+1) does not exist, else by listing.
  /// nullopt: none.
  arrow::Result<std::optional<int64_t>> LatestId() const;
  arrow::Result<std::optional<int64_t>> EarliestId() const;
  /// Ids present, ascending.
  arrow::Result<std::vector<int64_t>> ListIds() const;

  /// Read one snapshot; kNotFound when the file is missing.
  arrow::Result<Snapshot> Read(int64_t id) const;
  arrow::Result<std::optional<Snapshot>> Latest() const;
  /// Newest snapshot with timeMillis <= `millis`; nullopt: none is that old.
  arrow::Result<std::optional<Snapshot>> AtTime(int64_t millis) const;

  arrow::Result<Snapshot> ReadTag(const std::string& name) const;
  arrow::Result<bool> TagExists(const std::string& name) const;
  arrow::Result<std::vector<std::string>> ListTags() const;

  /// Best effort: a hint may be wrong or absent without harm. Errors are returned for the caller to
  /// drop by name.
  arrow::Status WriteLatestHint(int64_t id) const;

 private:
  arrow::Result<std::optional<int64_t>> ReadHint(const std::string& path) const;

  std::shared_ptr<FileIO> io_;
  TablePaths paths_;
  std::shared_ptr<Clock> clock_;
};

}  // namespace kelda
