#include "kelda/format/parquet/parquet_sink.h"

namespace kelda {

arrow::Status ParquetSink::Write(const void* data, int64_t size) {
  if (abandoned_) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(failure_);
  failure_ = file_->Write(data, size);
  if (failure_.ok()) position_ += size;
  return failure_;
}

}  // namespace kelda
