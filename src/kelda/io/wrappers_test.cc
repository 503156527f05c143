#include <atomic>

#include "kelda/base/test_matchers.h"
#include "kelda/io/caching_file_io.h"
#include "kelda/io/counting_file_io.h"
#include "kelda/io/faulty_file_io.h"
#include "kelda/io/io_error.h"
#include "kelda/io/retrying_file_io.h"

namespace kelda {
namespace {

constexpr char kDataFile[] = "/t/bucket-0/data-0f5b2b6e-1234-4abc-9def-0123456789ab-0.parquet";

class FakeClock : public Clock {
 public:
  int64_t NowMillis() override { return slept_ms_.load(); }
  void Sleep(std::chrono::milliseconds duration) override {
    ++sleeps_;
    slept_ms_ += duration.count();
  }
  int sleeps() const { return sleeps_.load(); }

 private:
  std::atomic<int> sleeps_{0};
  std::atomic<int64_t> slept_ms_{0};
};

class WrappersTest : public testing::Test {
 protected:
  std::shared_ptr<FileIO> memory_ = MakeMemoryFileIO();
  std::shared_ptr<FaultyFileIO> faulty_ = std::make_shared<FaultyFileIO>(memory_);
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  RetryingFileIO retrying_{faulty_, RetryPolicy(), clock_, Random::Seeded(1)};

  Fault Failing(IoOperation operation, int64_t times = 1) {
    Fault fault;
    fault.operation = operation;
    fault.times = times;
    return fault;
  }
  std::string Content(const std::string& path) {
    auto bytes = memory_->ReadAll(path);
    return bytes.ok() ? *bytes : bytes.status().message();
  }
  bool Exists(const std::string& path) { return memory_->Exists(path).ValueOr(false); }
};

TEST_F(WrappersTest, CountingCountsCallsAndBytes) {
  MetricsRegistry registry;
  CountingFileIO io(memory_, &registry);
  ASSERT_OK_AND_ASSIGN(auto out, io.CreateNew("/t/f"));
  ASSERT_OK(out->Write("0123456789", 10));
  ASSERT_OK(out->Close());
  ASSERT_OK_AND_ASSIGN(auto file, io.OpenInput("/t/f"));
  ASSERT_OK(file->ReadAt(8, 100));
  ASSERT_OK(file->ReadAt(0, 3));
  ASSERT_OK(io.ReadAll("/t/f", 100));
  ASSERT_OK(io.ReadRanges("/t/f", {{0, 1}, {5, 2}}));
  EXPECT_FALSE(io.Stat("/t/no").ok());
  EXPECT_EQ(io.PublishNew("/t/s", "abc").outcome, PublishOutcome::kDone);
  EXPECT_EQ(io.PublishNew("/t/s", "abc").outcome, PublishOutcome::kLost);
  EXPECT_EQ(io.calls(IoOperation::kWrite), 1);
  EXPECT_EQ(io.bytes(IoOperation::kWrite), 10);
  EXPECT_EQ(io.calls(IoOperation::kRead), 2);
  EXPECT_EQ(io.bytes(IoOperation::kRead), 5);
  EXPECT_EQ(io.bytes(IoOperation::kReadAll), 10);
  EXPECT_EQ(io.bytes(IoOperation::kReadRanges), 3);
  EXPECT_EQ(io.calls(IoOperation::kStat), 1);
  EXPECT_EQ(io.calls(IoOperation::kPublishNew), 2);
  EXPECT_EQ(io.bytes(IoOperation::kPublishNew), 3);
  EXPECT_EQ(io.calls(), 11);
  EXPECT_EQ(registry.GetCounter("io.read.bytes").value(), 5);
}

TEST_F(WrappersTest, FaultsMatchNumberOperationAndPath) {
  Fault fault;
  fault.operation = IoOperation::kStat;
  fault.path_glob = "*/snapshot-*";
  fault.nth = 2;
  faulty_->Add(fault);
  ASSERT_OK(memory_->WriteReplacing("/t/snapshot/snapshot-1", "x"));
  EXPECT_OK(faulty_->Stat("/t/snapshot/snapshot-1"));
  EXPECT_OK(faulty_->Stat("/t/snapshot"));
  EXPECT_OK(faulty_->ReadAll("/t/snapshot/snapshot-1", 10));
  const auto status = faulty_->Stat("/t/snapshot/snapshot-1").status();
  EXPECT_TRUE(IsTransient(status)) << status.ToString();
  EXPECT_OK(faulty_->Stat("/t/snapshot/snapshot-1"));
  EXPECT_EQ(faulty_->calls(), 5);
  EXPECT_EQ(faulty_->struck(), 1);
}

TEST_F(WrappersTest, EveryCallCanBeTheOneThatFails) {
  auto work = [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto out, faulty_->CreateNew("/t/f"));
    ARROW_RETURN_NOT_OK(out->Write("abc", 3));
    ARROW_RETURN_NOT_OK(out->Close());
    ARROW_ASSIGN_OR_RAISE(auto file, faulty_->OpenInput("/t/f"));
    ARROW_RETURN_NOT_OK(file->ReadAt(0, 3));
    ARROW_RETURN_NOT_OK(faulty_->List("/t"));
    ARROW_RETURN_NOT_OK(faulty_->Rename("/t/f", "/t/g"));
    return faulty_->DeleteDir("/t");
  };
  ASSERT_OK(work());
  const int64_t calls = faulty_->calls();
  EXPECT_EQ(calls, 8);
  for (int64_t n = 1; n <= calls; ++n) {
    for (auto mode : {FaultMode::kBefore, FaultMode::kAfter, FaultMode::kShortWrite}) {
      ASSERT_OK(memory_->DeleteDir("/t"));
      faulty_->Heal();
      Fault fault;
      fault.nth = n;
      fault.mode = mode;
      faulty_->Add(fault);
      EXPECT_FALSE(work().ok()) << n;
      EXPECT_EQ(faulty_->calls(), n);
    }
  }
}

TEST_F(WrappersTest, LostReplyOfPublish) {
  auto fault = Failing(IoOperation::kPublishNew);
  faulty_->Add(fault);
  auto result = faulty_->PublishNew("/t/s1", "mine");
  EXPECT_EQ(result.outcome, PublishOutcome::kUnknown);
  EXPECT_FALSE(result.error.ok());
  EXPECT_FALSE(Exists("/t/s1"));

  faulty_->Heal();
  fault.mode = FaultMode::kAfter;
  faulty_->Add(fault);
  result = faulty_->PublishNew("/t/s1", "mine");
  EXPECT_EQ(result.outcome, PublishOutcome::kUnknown);
  EXPECT_EQ(Content("/t/s1"), "mine");
}

TEST_F(WrappersTest, ShortWriteIsAFullDisk) {
  auto fault = Failing(IoOperation::kWrite);
  fault.mode = FaultMode::kShortWrite;
  faulty_->Add(fault);
  ASSERT_OK_AND_ASSIGN(auto out, faulty_->CreateNew("/t/f"));
  const auto status = out->Write("0123456789", 10);
  EXPECT_TRUE(IsDiskFull(status));
  EXPECT_FALSE(IsTransient(status));
  EXPECT_THAT(status.message(), testing::HasSubstr("disk full"));
  ASSERT_OK_AND_ASSIGN(int64_t written, out->Tell());
  EXPECT_EQ(written, 5);
  out.reset();
  EXPECT_FALSE(Exists("/t/f"));
}

TEST_F(WrappersTest, AfterACrashNothingWorksAndPartialFilesStay) {
  ASSERT_OK_AND_ASSIGN(auto out, faulty_->CreateNew("/t/f"));
  ASSERT_OK(out->Write("part", 4));
  Fault fault;
  fault.nth = 1;
  fault.crash = true;
  faulty_->Add(fault);
  EXPECT_FALSE(faulty_->Stat("/t/f").ok());
  EXPECT_FALSE(out->Write("more", 4).ok());
  EXPECT_FALSE(out->Close().ok());
  EXPECT_FALSE(faulty_->DeleteFile("/t/f").ok());
  EXPECT_EQ(faulty_->PublishNew("/t/s", "x").outcome, PublishOutcome::kUnknown);
  out.reset();
  EXPECT_EQ(Content("/t/f"), "part");
  EXPECT_FALSE(Exists("/t/s"));
  faulty_->Heal();
  EXPECT_OK(faulty_->DeleteFile("/t/f"));
}

TEST_F(WrappersTest, RetryRepeatsIdempotentCalls) {
  ASSERT_OK(memory_->WriteReplacing("/t/f", "abc"));
  const std::vector<std::pair<IoOperation, std::function<arrow::Status()>>> calls = {
      {IoOperation::kStat, [&] { return retrying_.Stat("/t/f").status(); }},
      {IoOperation::kList, [&] { return retrying_.List("/t").status(); }},
      {IoOperation::kOpenInput, [&] { return retrying_.OpenInput("/t/f").status(); }},
      {IoOperation::kReadAll, [&] { return retrying_.ReadAll("/t/f", 9).status(); }},
      {IoOperation::kReadRanges, [&] { return retrying_.ReadRanges("/t/f", {{0, 1}}).status(); }},
      {IoOperation::kMakeDirs, [&] { return retrying_.MakeDirs("/t/d"); }},
      {IoOperation::kWriteReplacing, [&] { return retrying_.WriteReplacing("/t/h", "1"); }},
      {IoOperation::kDeleteFile, [&] { return retrying_.DeleteFile("/t/h"); }},
      {IoOperation::kDeleteDir, [&] { return retrying_.DeleteDir("/t/d"); }},
      {IoOperation::kRead,
       [&]() -> arrow::Status {
         ARROW_ASSIGN_OR_RAISE(auto file, retrying_.OpenInput("/t/f"));
         ARROW_ASSIGN_OR_RAISE(auto bytes, file->ReadAt(0, 3));
         return bytes->ToString() == "abc" ? arrow::Status::OK() : Invalid("wrong bytes");
       }},
  };
  for (const auto& [operation, call] : calls) {
    faulty_->Heal();
    faulty_->Add(Failing(operation, 4));
    EXPECT_OK(call()) << ToString(operation);
    EXPECT_EQ(faulty_->struck(), 4) << ToString(operation);
    faulty_->Heal();
    faulty_->Add(Failing(operation, 5));  // one more than the policy repeats
    EXPECT_FALSE(call().ok()) << ToString(operation);
    EXPECT_EQ(faulty_->struck(), 5) << ToString(operation);
  }
}

TEST_F(WrappersTest, RetryNeverRepeatsWhatIsNotIdempotent) {
  faulty_->Add(Failing(IoOperation::kPublishNew));
  EXPECT_EQ(retrying_.PublishNew("/t/s", "x").outcome, PublishOutcome::kUnknown);
  faulty_->Add(Failing(IoOperation::kCreateNew));
  EXPECT_FALSE(retrying_.CreateNew("/t/f").ok());
  faulty_->Add(Failing(IoOperation::kRename));
  EXPECT_FALSE(retrying_.Rename("/t/f", "/t/g").ok());
  EXPECT_EQ(faulty_->calls(), 3);
  EXPECT_EQ(clock_->sleeps(), 0);
}

TEST_F(WrappersTest, RetryLeavesPermanentErrorsAlone) {
  EXPECT_THAT(retrying_.Stat("/t/no"), HasError(ErrorCode::kNotFound, "/t/no"));
  auto fault = Failing(IoOperation::kList, Fault::kForEver);
  fault.transient = false;
  faulty_->Add(fault);
  EXPECT_FALSE(retrying_.List("/t").ok());
  EXPECT_EQ(faulty_->calls(), 2);
  EXPECT_EQ(clock_->sleeps(), 0);
}

TEST_F(WrappersTest, RetryBacksOff) {
  faulty_->Add(Failing(IoOperation::kList, Fault::kForEver));
  EXPECT_FALSE(retrying_.List("/t").ok());
  EXPECT_EQ(clock_->sleeps(), 4);
  // 50, 100, 200, 400 ms, each jittered down to its half at most.
  EXPECT_GE(clock_->NowMillis(), 375);
  EXPECT_LE(clock_->NowMillis(), 750);
}

class CachingTest : public WrappersTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 1000; ++i) content_ += fmt::format("{:08}", i);
    ASSERT_OK(memory_->WriteReplacing(kDataFile, content_));
    options_.block_bytes = 1000;
    options_.read_bytes_max = 3000;
  }
  void Make() { io_ = std::make_shared<CachingFileIO>(counting_, budget_, options_); }
  void ExpectRead(const std::string& path, int64_t offset, int64_t length) {
    ASSERT_OK_AND_ASSIGN(auto file, io_->OpenInput(path));
    ASSERT_OK_AND_ASSIGN(auto bytes, file->ReadAt(offset, length));
    EXPECT_EQ(bytes->ToString(),
              content_.substr(static_cast<size_t>(offset), static_cast<size_t>(length)));
  }
  int64_t reads() const { return counting_->calls(IoOperation::kRead); }

  std::string content_;
  std::shared_ptr<CountingFileIO> counting_ = std::make_shared<CountingFileIO>(memory_);
  std::shared_ptr<MemoryBudget> budget_ = MemoryBudget::Make(1 << 20);
  CacheOptions options_;
  std::shared_ptr<CachingFileIO> io_;
};

TEST_F(CachingTest, SecondReadCostsNothing) {
  Make();
  ExpectRead(kDataFile, 7990, 10);  // "footer"
  ExpectRead(kDataFile, 7500, 500);
  EXPECT_EQ(reads(), 1);
  EXPECT_EQ(io_->cached_bytes(), 1000);
  EXPECT_EQ(budget_->used(), 1000);
  ExpectRead(kDataFile, 6500, 1200);  // block 6 is new, block 7 is known
  EXPECT_EQ(reads(), 2);
  ExpectRead(kDataFile, 100, 2900);  // three blocks, one call
  EXPECT_EQ(reads(), 3);
  EXPECT_EQ(io_->cached_bytes(), 5000);
  io_->Clear();
  EXPECT_EQ(budget_->used(), 0);
}

TEST_F(CachingTest, MissesAroundAHit) {
  Make();
  ExpectRead(kDataFile, 1000, 1000);
  ExpectRead(kDataFile, 0, 3000);
  EXPECT_EQ(reads(), 3);  // block 0 and block 2, each by itself
  EXPECT_EQ(io_->hits(), 1);
  EXPECT_EQ(io_->misses(), 3);
}

TEST_F(CachingTest, LongReadsAndMutableFilesPass) {
  Make();
  ExpectRead(kDataFile, 0, 3001);
  ASSERT_OK(memory_->WriteReplacing("/t/snapshot/LATEST", content_));
  ExpectRead("/t/snapshot/LATEST", 0, 10);
  ExpectRead("/t/snapshot/LATEST", 0, 10);
  EXPECT_EQ(reads(), 3);
  EXPECT_EQ(io_->cached_bytes(), 0);
}

TEST_F(CachingTest, LeastRecentlyUsedGoesFirst) {
  options_.capacity_bytes = 2000;
  Make();
  ExpectRead(kDataFile, 0, 10);
  ExpectRead(kDataFile, 1000, 10);
  ExpectRead(kDataFile, 0, 10);
  ExpectRead(kDataFile, 2000, 10);  // block 1 goes
  EXPECT_EQ(io_->cached_bytes(), 2000);
  EXPECT_EQ(reads(), 3);
  ExpectRead(kDataFile, 0, 10);
  EXPECT_EQ(reads(), 3);
  ExpectRead(kDataFile, 1000, 10);
  EXPECT_EQ(reads(), 4);
}

TEST_F(CachingTest, BudgetBoundsTheCache) {
  budget_ = MemoryBudget::Make(2500);
  Make();
  for (int64_t block = 0; block < 8; ++block) ExpectRead(kDataFile, block * 1000, 10);
  EXPECT_EQ(io_->cached_bytes(), 2000);
  EXPECT_EQ(budget_->peak(), 2000);
  // Somebody else takes the rest: reads go on without the cache.
  io_->Clear();
  ASSERT_OK_AND_ASSIGN(auto held, budget_->TryReserve(2500, "other"));
  ExpectRead(kDataFile, 0, 10);
  ExpectRead(kDataFile, 0, 2500);
  EXPECT_EQ(io_->cached_bytes(), 0);
}

TEST_F(CachingTest, ChangesThroughTheCacheDropBlocks) {
  Make();
  const std::string second = std::string(kDataFile) + ".2";
  ExpectRead(kDataFile, 0, 10);
  ASSERT_OK(io_->Rename(kDataFile, second));
  EXPECT_EQ(io_->cached_bytes(), 0);
  ExpectRead(second, 0, 10);
  std::swap(content_[0], content_[7]);
  content_[0] = '#';
  ASSERT_OK(io_->WriteReplacing(second, content_));
  ExpectRead(second, 0, 10);
  ASSERT_OK(io_->DeleteFile(second));
  EXPECT_THAT(io_->OpenInput(second), HasError(ErrorCode::kNotFound, second));
  EXPECT_EQ(io_->PublishNew(second, content_).outcome, PublishOutcome::kDone);
  ExpectRead(second, 0, 10);
  ASSERT_OK(io_->DeleteDir("/t"));
  EXPECT_EQ(io_->cached_bytes(), 0);
}

TEST_F(CachingTest, AFileThatGrewIsNotServedFromItsShortBlock) {
  Make();
  const std::string all = content_;
  content_ = all.substr(0, 1500);
  ASSERT_OK(memory_->WriteReplacing(kDataFile, content_));
  ExpectRead(kDataFile, 900, 600);
  content_ = all;
  ASSERT_OK(memory_->WriteReplacing(kDataFile, content_));
  ExpectRead(kDataFile, 900, 2000);
}

TEST_F(CachingTest, ImmutableNames) {
  EXPECT_TRUE(HasImmutableName(kDataFile));
  EXPECT_TRUE(HasImmutableName("/t/manifest/manifest-0f5b2b6e-1234-4abc-9def-0123456789ab-1"));
  EXPECT_FALSE(HasImmutableName("/t/snapshot/snapshot-1"));
  EXPECT_FALSE(HasImmutableName("/t/.snapshot-1.0f5b2b6e-1234-4abc-9def-0123456789ab.tmp"));
  EXPECT_FALSE(HasImmutableName("/0f5b2b6e-1234-4abc-9def-0123456789ab/schema-0"));
}

}  // namespace
}  // namespace kelda
