#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kelda/io/file_io.h"

namespace kelda {

/// Hands every call to another FileIO; the base of the wrappers.
class ForwardingFileIO : public FileIO {
 public:
  arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenInput(
      const std::string& path) override {
    return inner_->OpenInput(path);
  }
  arrow::Result<std::shared_ptr<arrow::io::OutputStream>> CreateNew(
      const std::string& path) override {
    return inner_->CreateNew(path);
  }
  arrow::Result<FileInfo> Stat(const std::string& path) override { return inner_->Stat(path); }
  arrow::Result<std::vector<FileInfo>> List(const std::string& dir) override {
    return inner_->List(dir);
  }
  arrow::Status MakeDirs(const std::string& dir) override { return inner_->MakeDirs(dir); }
  arrow::Status DeleteFile(const std::string& path) override { return inner_->DeleteFile(path); }
  arrow::Status DeleteDir(const std::string& dir) override { return inner_->DeleteDir(dir); }
  arrow::Status Rename(const std::string& from, const std::string& to) override {
    return inner_->Rename(from, to);
  }
  PublishResult PublishNew(const std::string& path, std::string_view bytes) override {
    return inner_->PublishNew(path, bytes);
  }
  arrow::Status WriteReplacing(const std::string& path, std::string_view bytes) override {
    return inner_->WriteReplacing(path, bytes);
  }
  arrow::Result<std::string> ReadAll(const std::string& path, int64_t size_max_bytes) override {
    return inner_->ReadAll(path, size_max_bytes);
  }
  arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const std::string& path, const std::vector<ByteRange>& ranges) override {
    return inner_->ReadRanges(path, ranges);
  }

 protected:
  explicit ForwardingFileIO(std::shared_ptr<FileIO> inner) : inner_(std::move(inner)) {}
  FileIO& inner() { return *inner_; }

 private:
  const std::shared_ptr<FileIO> inner_;
};

}  // namespace kelda
