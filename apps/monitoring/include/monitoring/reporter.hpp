// SPDX-License-Identifier: MIT
// The door for cariama-top: it tells programs of this machine and user what the counters are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dtutils/joinable_thread.hpp"
#include "dtutils/wake_fd.hpp"

namespace monitoring {

/// A thread of one process of the job, most often process 0, that reads the boards of all processes
/// by RDMA whenever a program asks for them, and writes them to that program as text. It sleeps in
/// between. Others of the job are not disturbed.
///
/// Programs ask by a Unix-domain socket in the abstract namespace (unix(7)), as ask_reporter does;
/// only those of the same user are answered. An answer is lines:
///
///     job PROCESSES
///     process NUMBER PID MACHINE HOST STATE TEXT      STATE: ok, or why there are no figures
///     counter NAME KIND VALUE UNIT                    of the process above; KIND: total or level
///     end
///
/// In a simulation it does nothing: the programs that ask are outside of it.
class Reporter {
 public:
  /// Throws Error when the socket cannot be made. `fabric` outlives it. Setup only.
  explicit Reporter(dsfabric::Fabric& fabric);
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  /// Waits for the thread, which ends at once.
  ~Reporter();

 private:
  void run() noexcept;

  dsfabric::Fabric& fabric_;
  dtutils::WakeFd ending_;
  int door_ = -1;
  dtutils::JoinableThread thread_;
};

/// The processes of this user on this machine that have a Reporter. Any thread; setup only.
std::vector<std::uint64_t> find_reporters();

/// What the Reporter of that process answers now. Throws Error when the process has none of this
/// user, or does not answer for two seconds. Any thread; setup only.
std::string ask_reporter(std::uint64_t process);

}  // namespace monitoring
