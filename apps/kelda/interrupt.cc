#include "apps/kelda/interrupt.h"

#include <signal.h>

#include <atomic>

#include "kelda/sql/session/session.h"

namespace kelda::cli {
namespace {

std::atomic<sql::Session*> running_session{nullptr};
std::atomic<int> interrupt_count{0};
static_assert(std::atomic<int>::is_always_lock_free);

void OnInterrupt(int) {
  if (interrupt_count.fetch_add(1) >= 2) signal(SIGINT, SIG_DFL);
  if (sql::Session* session = running_session.load()) session->Interrupt();
}

}  // namespace

void InstallInterruptHandler(sql::Session* session) {
  running_session = session;
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  // A closed pipe is a failed write, after which the statement is cancelled like any other.
  signal(SIGPIPE, SIG_IGN);
}

bool Interrupted() { return interrupt_count.load() > 0; }
void ClearInterrupt() { interrupt_count = 0; }

}  // namespace kelda::cli
