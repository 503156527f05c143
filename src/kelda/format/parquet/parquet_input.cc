#include "kelda/format/parquet/parquet_input.h"

namespace kelda {

arrow::Status ParquetInput::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void ParquetInput::Remember(const arrow::Status& status) {
  std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = status;
}

}  // namespace kelda
