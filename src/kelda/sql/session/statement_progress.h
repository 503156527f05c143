#pragma once

#include <atomic>
#include <cstdint>

#include "duckdb/main/client_context.hpp"
#include "duckdb/main/client_context_state.hpp"

namespace kelda::sql {

/// How far the running statement of a connection is with Paimon tables. Scans, writers and commits
/// say it, a progress bar may look at any time: every number is on its own, none is exact.
/// Thread-safe.
class StatementProgress : public duckdb::ClientContextState {
 public:
  enum class Phase { kPlanning, kReading, kWriting, kCommitting };

  std::atomic<Phase> phase{Phase::kPlanning};
  /// Files that all scans are to read, and those that were opened.
  std::atomic<int64_t> files_planned{0};
  std::atomic<int64_t> files_opened{0};
  std::atomic<int64_t> bytes_planned{0};
  /// What the statement wrote so far.
  std::atomic<int64_t> rows_written{0};
  std::atomic<int64_t> bytes_written{0};

  static duckdb::shared_ptr<StatementProgress> Of(duckdb::ClientContext& context) {
    return context.registered_state->GetOrCreate<StatementProgress>("kelda_statement_progress");
  }

  /// A later phase is never followed by an earlier one.
  void Enter(Phase next) {
    Phase now = phase.load(std::memory_order_relaxed);
    while (now < next && !phase.compare_exchange_weak(now, next, std::memory_order_relaxed)) {
    }
  }

  void QueryBegin(duckdb::ClientContext&) override {
    phase = Phase::kPlanning;
    for (auto* number :
         {&files_planned, &files_opened, &bytes_planned, &rows_written, &bytes_written}) {
      *number = 0;
    }
  }
};

}  // namespace kelda::sql
