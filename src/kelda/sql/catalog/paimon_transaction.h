#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "duckdb/transaction/transaction.hpp"
#include "duckdb/transaction/transaction_manager.hpp"

#include "kelda/catalog/catalog.h"
#include "kelda/commit/committer.h"
#include "kelda/metadata/commit_message.h"
#include "kelda/metadata/table_statistics.h"
#include "kelda/write/append_writer.h"

namespace kelda::sql {

/// What one DuckDB transaction sees of a warehouse and is about to do to it. Every table is pinned
/// at first touch: schema and snapshot stay the same to the end. Writes go to one table and become
/// one snapshot at commit. Thread-safe: planning and sinks may call from several threads.
class PaimonTransaction : public duckdb::Transaction {
 public:
  PaimonTransaction(duckdb::TransactionManager& manager, duckdb::ClientContext& context,
                    Catalog& catalog)
      : Transaction(manager, context), catalog_(catalog) {}
  ~PaimonTransaction() override;

  struct PinnedTable {
    TableContextPtr table;  ///< newest schema at first touch
    bool snapshot_known = false;
    std::optional<Snapshot> snapshot;  ///< newest snapshot at first read
  };
  /// Schema of a table or branch, pinned.
  arrow::Result<TableContextPtr> Table(const Identifier& id);
  /// Snapshot of it, pinned. Fails for a table that this transaction wrote.
  arrow::Result<std::optional<Snapshot>> SnapshotToRead(const Identifier& id);
  /// The same for what shows metadata, which may be of a table that this transaction wrote: what it
  /// wrote is not there yet.
  arrow::Result<std::optional<Snapshot>> PinnedSnapshotOf(const Identifier& id);
  /// Forget what is pinned of a table: it was altered by this statement.
  void Unpin(const Identifier& id);

  /// Publish `statistics` of a table at commit: a write like others, but the only one to its table.
  arrow::Status SetStatistics(const TableContextPtr& table, TableStatistics statistics);
  /// Claim the transaction's one write for a table; fails if another table, or the same in another
  /// way, was written before.
  arrow::Status StartWrite(const TableContextPtr& table,
                           const std::optional<Committer::OverwriteSpec>& overwrite);
  /// Keep the writer of a statement, so that rollback removes its files, however long plans live.
  AppendWriter& AddWriter(std::unique_ptr<AppendWriter> writer);
  /// Finish the files of a writer; they are to be committed. The writer is gone afterwards.
  arrow::Status FinishWriter(AppendWriter& writer);
  /// The statement under way made this table (CREATE TABLE AS): it is dropped again unless the
  /// transaction commits.
  /// When it commits, the table takes the place of `replaces`.
  void OwnCreatedTable(const Identifier& id,
                       const std::optional<Identifier>& replaces = std::nullopt);

  /// Publish. After an error nothing of the transaction is left, unless the outcome is unknown.
  arrow::Status Commit();
  void Rollback();

 private:
  struct PendingWrite {
    TableContextPtr table;
    std::optional<Committer::OverwriteSpec> overwrite;
    std::vector<CommitMessage> messages;
    std::optional<TableStatistics> statistics = std::nullopt;
  };
  arrow::Result<PinnedTable*> Pin(const Identifier& id);
  arrow::Result<std::optional<Snapshot>> PinSnapshot(const Identifier& id);

  Catalog& catalog_;
  std::mutex mutex_;
  std::map<std::string, PinnedTable> pinned_;
  std::optional<PendingWrite> write_;
  std::vector<std::unique_ptr<AppendWriter>> writers_;
  std::optional<Identifier> created_;
  std::optional<Identifier> replaces_;
};

class PaimonTransactionManager : public duckdb::TransactionManager {
 public:
  PaimonTransactionManager(duckdb::AttachedDatabase& db, std::shared_ptr<Catalog> catalog)
      : TransactionManager(db), catalog_(std::move(catalog)) {}

  duckdb::Transaction& StartTransaction(duckdb::ClientContext& context) override;
  duckdb::ErrorData CommitTransaction(duckdb::ClientContext& context,
                                      duckdb::Transaction& transaction) override;
  void RollbackTransaction(duckdb::Transaction& transaction) override;
  void Checkpoint(duckdb::ClientContext&, bool) override {}

 private:
  std::shared_ptr<Catalog> catalog_;
  std::mutex mutex_;
  std::map<duckdb::Transaction*, std::unique_ptr<PaimonTransaction>> running_;
};

}  // namespace kelda::sql
