#pragma once

namespace kelda::sql {
class Session;
}  // namespace kelda::sql

namespace kelda::cli {

/// Let Ctrl-C cancel what `session` runs; after the third without an answer the signal ends the
/// program. Call once.
void InstallInterruptHandler(sql::Session* session);
/// Whether Ctrl-C was pressed since the last ClearInterrupt.
bool Interrupted();
void ClearInterrupt();

}  // namespace kelda::cli
