// SPDX-License-Identifier: MIT
// The door for cariama-top: it tells programs of this machine and user what the counters are.
#pragma once

#include <string>
#include <thread>

#include "dsfabric/fabric.hpp"

namespace monitoring {

/// A thread of one process of the job, most often process 0, that reads the boards of all processes
/// by RDMA whenever a program asks for them, and writes them to that program as text. It sleeps in
/// between. Others of the job are not disturbed.
///
/// Programs ask by a Unix-domain socket in the abstract namespace (unix(7)), whose name is
/// reporter_name(uid, pid); only those of the same user are answered. An answer is lines:
///
///     job PROCESSES
///     process NUMBER PID MACHINE HOST STATE TEXT      STATE: ok, or why there are no figures
///     counter NAME KIND VALUE UNIT                    of the process above; KIND: total or level
///     end
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
  int door_ = -1;
  int ending_ = -1;
  std::thread thread_;
};

/// The name of the socket, without the leading zero byte: "cariama-top.<uid>.<pid>".
std::string reporter_name(unsigned user, unsigned process);

}  // namespace monitoring
