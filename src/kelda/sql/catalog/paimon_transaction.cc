#include "kelda/sql/catalog/paimon_transaction.h"

#include <algorithm>

#include "duckdb/common/error_data.hpp"

#include "kelda/base/log.h"
#include "kelda/scan/plan.h"
#include "kelda/sql/catalog/create_table.h"
#include "kelda/sql/session/statement_progress.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

Identifier WithoutSystemTable(Identifier id) {
  id.system_table.clear();
  return id;
}

/// The compactions that writers did by the way, taken out of `messages`.
std::vector<CommitMessage> TakeCompactions(std::vector<CommitMessage>* messages) {
  std::vector<CommitMessage> compactions;
  for (CommitMessage& message : *messages) {
    if (message.compact_before.empty() && message.compact_after.empty()) continue;
    CommitMessage compaction;
    compaction.partition = message.partition;
    compaction.bucket = message.bucket;
    compaction.total_buckets = message.total_buckets;
    compaction.compact_before = std::exchange(message.compact_before, {});
    compaction.compact_after = std::exchange(message.compact_after, {});
    compaction.compact_new_index_files = std::exchange(message.compact_new_index_files, {});
    compaction.compact_deleted_index_files = std::exchange(message.compact_deleted_index_files, {});
    compactions.push_back(std::move(compaction));
  }
  return compactions;
}

/// A compaction changes no rows: when others were faster it is given up, and the statement, whose
/// rows are committed, has succeeded.
void CommitCompactions(Committer& committer, const TableContext& table,
                       std::vector<CommitMessage> compactions) {
  if (compactions.empty()) return;
  Committable committable;
  committable.messages = std::move(compactions);
  auto committed = committer.Commit(committable);
  if (committed.ok()) return;
  KELDA_LOG(Warn, "table {}: the rows are committed, but merging small files was given up: {}",
            table.name, committed.status().message());
  if (CodeOf(committed.status()) != ErrorCode::kCommitUnknown)
    DeleteFiles(table, committable.messages);
}

}  // namespace

PaimonTransaction::~PaimonTransaction() { Rollback(); }

arrow::Result<PaimonTransaction::PinnedTable*> PaimonTransaction::Pin(const Identifier& id) {
  const Identifier plain = WithoutSystemTable(id);
  const std::string name = plain.FullName();
  auto it = pinned_.find(name);
  if (it == pinned_.end()) {
    PinnedTable pinned;
    ARROW_ASSIGN_OR_RAISE(pinned.table, catalog_.LoadTable(plain));
    it = pinned_.emplace(name, std::move(pinned)).first;
  }
  return &it->second;
}

arrow::Result<TableContextPtr> PaimonTransaction::Table(const Identifier& id) {
  std::lock_guard lock(mutex_);
  ARROW_ASSIGN_OR_RAISE(PinnedTable * pinned, Pin(id));
  return pinned->table;
}

arrow::Result<std::optional<Snapshot>> PaimonTransaction::SnapshotToRead(const Identifier& id) {
  std::lock_guard lock(mutex_);
  const std::string name = WithoutSystemTable(id).FullName();
  if (write_ && write_->table->name == name) {
    return Invalid(
        "table {} was written by this transaction, which cannot read it before COMMIT: Paimon "
        "shows rows by snapshot only",
        name);
  }
  return PinSnapshot(id);
}

arrow::Result<std::optional<Snapshot>> PaimonTransaction::PinnedSnapshotOf(const Identifier& id) {
  std::lock_guard lock(mutex_);
  return PinSnapshot(id);
}

arrow::Result<std::optional<Snapshot>> PaimonTransaction::PinSnapshot(const Identifier& id) {
  ARROW_ASSIGN_OR_RAISE(PinnedTable * pinned, Pin(id));
  if (!pinned->snapshot_known) {
    ARROW_ASSIGN_OR_RAISE(pinned->snapshot, pinned->table->snapshots->Latest());
    pinned->snapshot_known = true;
  }
  return pinned->snapshot;
}

void PaimonTransaction::Unpin(const Identifier& id) {
  std::lock_guard lock(mutex_);
  pinned_.erase(WithoutSystemTable(id).FullName());
}

arrow::Status PaimonTransaction::StartWrite(
    const TableContextPtr& table, const std::optional<Committer::OverwriteSpec>& overwrite) {
  ARROW_RETURN_NOT_OK(table->CheckWritable());
  std::lock_guard lock(mutex_);
  if (!write_) {
    write_ = PendingWrite{table, overwrite, {}, {}};
    return arrow::Status::OK();
  }
  if (write_->table->name != table->name) {
    return Invalid(
        "this transaction wrote table {} and cannot write {} too: Paimon commits one table at a "
        "time. COMMIT first",
        write_->table->name, table->name);
  }
  if (write_->statistics) {
    return Unsupported("table {}: ANALYZE and writes in one transaction. COMMIT between them",
                       table->name);
  }
  if (overwrite || write_->overwrite) {
    return Unsupported(
        "table {}: overwriting and other writes in one transaction. COMMIT between them",
        table->name);
  }
  return arrow::Status::OK();
}

arrow::Status PaimonTransaction::SetStatistics(const TableContextPtr& table,
                                               TableStatistics statistics) {
  ARROW_RETURN_NOT_OK(table->CheckWritable());
  std::lock_guard lock(mutex_);
  if (write_) {
    return Invalid("this transaction wrote table {} and cannot analyze {} too. COMMIT first",
                   write_->table->name, table->name);
  }
  write_ = PendingWrite{table, std::nullopt, {}, std::move(statistics)};
  return arrow::Status::OK();
}

AppendWriter& PaimonTransaction::AddWriter(std::unique_ptr<AppendWriter> writer) {
  std::lock_guard lock(mutex_);
  return *writers_.emplace_back(std::move(writer));
}

arrow::Status PaimonTransaction::FinishWriter(AppendWriter& writer) {
  std::unique_ptr<AppendWriter> own;
  {
    std::lock_guard lock(mutex_);
    auto it = std::find_if(writers_.begin(), writers_.end(),
                           [&](const auto& each) { return each.get() == &writer; });
    own = std::move(*it);
    writers_.erase(it);
  }
  ARROW_ASSIGN_OR_RAISE(auto messages, own->PrepareCommit());
  std::lock_guard lock(mutex_);
  auto& all = write_->messages;
  all.insert(all.end(), std::make_move_iterator(messages.begin()),
             std::make_move_iterator(messages.end()));
  return arrow::Status::OK();
}

void PaimonTransaction::OwnCreatedTable(const Identifier& id,
                                        const std::optional<Identifier>& replaces) {
  std::lock_guard lock(mutex_);
  created_ = id;
  replaces_ = replaces;
}

arrow::Status PaimonTransaction::Commit() {
  std::lock_guard lock(mutex_);
  writers_.clear();
  if (!write_) {
    created_.reset();
    return arrow::Status::OK();
  }
  PendingWrite write = std::move(*write_);
  write_.reset();
  auto commit = [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto committer, Committer::Make(write.table));
    if (write.statistics) return committer->CommitStatistics(*write.statistics).status();
    Committable committable;
    if (write.overwrite) {
      committable.messages = write.messages;
      return committer->Overwrite(*write.overwrite, committable).status();
    }
    auto compactions = TakeCompactions(&write.messages);
    committable.messages = write.messages;
    auto committed = committer->Commit(committable);
    if (committed.ok()) {
      CommitCompactions(*committer, *write.table, std::move(compactions));
    } else if (CodeOf(committed.status()) != ErrorCode::kCommitUnknown) {
      DeleteFiles(*write.table, compactions);
    }
    return committed.status();
  };
  auto status = commit();
  if (status.ok()) {
    if (created_ && replaces_) status = ReplaceTable(catalog_, *created_, *replaces_);
    created_.reset();
    return status;
  }
  // With an unknown outcome the files may be part of the table.
  if (CodeOf(status) == ErrorCode::kCommitUnknown) {
    created_.reset();
    return status;
  }
  DeleteFiles(*write.table, write.messages);
  if (created_) {
    IgnoreError(catalog_.DropTable(*created_, true),
                "the statement has failed already; the error tells why");
    created_.reset();
  }
  return status;
}

void PaimonTransaction::Rollback() {
  std::lock_guard lock(mutex_);
  writers_.clear();
  if (write_) DeleteFiles(*write_->table, write_->messages);
  write_.reset();
  if (created_) {
    auto dropped = catalog_.DropTable(*created_, true);
    if (!dropped.ok())
      KELDA_LOG(Warn, "table {} of a failed statement stays: {}", created_->FullName(),
                dropped.message());
  }
  created_.reset();
}

duckdb::Transaction& PaimonTransactionManager::StartTransaction(duckdb::ClientContext& context) {
  auto transaction = std::make_unique<PaimonTransaction>(*this, context, *catalog_);
  std::lock_guard lock(mutex_);
  PaimonTransaction* raw = transaction.get();
  running_.emplace(raw, std::move(transaction));
  return *raw;
}

duckdb::ErrorData PaimonTransactionManager::CommitTransaction(duckdb::ClientContext& context,
                                                              duckdb::Transaction& transaction) {
  std::unique_ptr<PaimonTransaction> own;
  {
    std::lock_guard lock(mutex_);
    auto node = running_.extract(&transaction);
    if (!node.empty()) own = std::move(node.mapped());
  }
  if (own == nullptr) return duckdb::ErrorData();
  StatementProgress::Of(context)->Enter(StatementProgress::Phase::kCommitting);
  // Outside the lock: a commit may wait for others for seconds.
  auto status = own->Commit();
  if (status.ok()) return duckdb::ErrorData();
  try {
    ThrowError(status);
  } catch (const std::exception& e) {
    return duckdb::ErrorData(e);
  }
}

void PaimonTransactionManager::RollbackTransaction(duckdb::Transaction& transaction) {
  std::unique_ptr<PaimonTransaction> own;
  {
    std::lock_guard lock(mutex_);
    auto node = running_.extract(&transaction);
    if (!node.empty()) own = std::move(node.mapped());
  }
  // Outside the lock: files may have to be removed.
  if (own != nullptr) own->Rollback();
}

}  // namespace kelda::sql
