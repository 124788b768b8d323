// SPDX-License-Identifier: MIT
// A thread that sleeps until another process wants a connection of this one.
#include "owner.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "connection.hpp"
#include "descriptors.hpp"
#include "request.hpp"

namespace preload {
namespace {

using std::chrono::milliseconds;

/// While a peer has not left its stream, its owner looks for what it sends there: after so long at
/// first, and twice as long each time that there was nothing.
constexpr milliseconds kFirstLook{1};
constexpr milliseconds kLastLook{64};

struct Round {
  bool busy = false;
  /// Of all that it looked at.
  std::uint64_t arrived = 0;
};

Round give_back_what_is_wanted() noexcept {
  Round round;
  for_each_entry([&round](int fd, const Entry&) {
    const auto connection = table().lock<Connection>(fd);
    if (!connection || !connection->is_asked_for()) return;
    if (!connection->give_back(fd)) round.busy = true;
    round.arrived += connection->arrived();
  });
  return round;
}

void serve(Worker& worker) {
  milliseconds pause = kFirstLook;
  Round last;
  for (;;) {
    const Request::Clock::duration limit = pause;
    worker.sleep({}, last.busy ? &limit : nullptr);
    const bool woken = worker.take_wakes();
    const Round now = give_back_what_is_wanted();
    const bool news = woken || now.arrived != last.arrived;
    pause = news ? kFirstLook : std::min(2 * pause, kLastLook);
    last = now;
  }
}

Owner this_owner;

}  // namespace

void prepare_owner() noexcept {
  if (this_owner.process >= 0) return;
  // Linux 5.3; without it children do not learn that this process has ended.
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (process < 0) return;
  try {
    const auto* const worker = new Worker(serve);
    this_owner = {process, worker->wake()};
  } catch (...) {
    close(process);
  }
}

Owner leave_owner() noexcept { return std::exchange(this_owner, {}); }

}  // namespace preload
