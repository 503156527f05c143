#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kelda/metadata/table_context.h"

namespace kelda {

/// Files of one partition that are to become one (or few).
struct AppendCompactTask {
  std::string partition;  ///< serialized row
  std::vector<DataFileMeta> files;
};

/// Packs the small files of a table without buckets (spec 02 §3.3), a round at a time: what does
/// not fill a bin waits for files of later rounds. Pure.
class AppendCompactPlanner {
 public:
  struct Rule {
    static arrow::Result<Rule> Make(const TableContext& table);

    int64_t target_file_size = 0;  ///< `target-file-size`
    int64_t open_file_cost = 0;    ///< `source.split.open-file-cost`
    int32_t min_file_num = 5;      ///< `compaction.min.file-num`
    double delete_ratio = 0.2;     ///< `compaction.delete-ratio-threshold`

    int64_t small_file_size() const { return target_file_size / 10 * 7; }
  };

  /// The deletion vector of a data file.
  struct Vector {
    std::string index_file;
    std::optional<int64_t> cardinality;
  };
  using VectorLookup =
      std::function<const Vector*(const std::string& partition, const std::string& data_file)>;

  /// `vectors` null: the table has no deletion vectors.
  AppendCompactPlanner(Rule rule, VectorLookup vectors)
      : rule_(rule), vectors_(std::move(vectors)) {}

  /// Small, or with many deleted rows. Thread-safe.
  bool IsCandidate(const std::string& partition, const DataFileMeta& file) const;
  /// REQUIRES: a candidate.
  void Add(const std::string& partition, DataFileMeta file);
  /// One round: tasks of all partitions, in the order in which they first came.
  std::vector<AppendCompactTask> Plan();

 private:
  struct Partition {
    std::string name;
    std::vector<DataFileMeta> files;
    int age = 0;  ///< rounds that gave nothing since the last file came
  };
  class Bin;

  std::vector<std::vector<DataFileMeta>> PackByAge(Partition* partition) const;
  std::vector<std::vector<DataFileMeta>> Pack(std::vector<DataFileMeta>* files) const;
  std::vector<std::vector<DataFileMeta>> PackWithVectors(Partition* partition) const;

  Rule rule_;
  VectorLookup vectors_;
  std::vector<Partition> partitions_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace kelda
