#pragma once

#include <arrow/array.h>

namespace kelda {

/// Decides from a sample of a leaf's values whether its column is worth a dictionary. Java's
/// library writes a dictionary first and gives it up after a page; deciding before saves the work
/// on columns that are mostly unique.
class DictionaryChoice {
 public:
  DictionaryChoice();
  /// Takes the first values until the sample is full.
  void Sample(const arrow::Array& values);
  bool full() const { return sampled_ >= kSampleMax; }
  bool Worthwhile() const;

 private:
  static constexpr int64_t kSampleMax = 16384;
  static constexpr size_t kSlots = 65536;

  void Insert(uint64_t hash);

  std::vector<uint64_t> slots_;
  int64_t sampled_ = 0;
  int64_t distinct_ = 0;
  int64_t plain_bytes_ = 0;
  int64_t distinct_bytes_ = 0;
};

}  // namespace kelda
