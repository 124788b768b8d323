// SPDX-License-Identifier: MIT
// The child processes of a bench: forked, bound to their parent's life, reaped.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// Owned by process 0. Owner thread only.
class ProcessGroup {
 public:
  /// Forks `count` - 1 children. Child i (from 1) runs child(i) and ends with what that returns,
  /// without returning from here. A child is killed when the forking thread ends, however it ends.
  /// The caller must not have started threads. Throws std::system_error when fork() fails.
  /// Source: fork(2), prctl(2) PR_SET_PDEATHSIG.
  ProcessGroup(int count, const std::function<int(int)>& child);

  /// Kills and reaps the children that are left.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Child i + 1 is pids()[i]; -1 once it was reaped.
  const std::vector<pid_t>& pids() const noexcept { return pids_; }

  /// Waits until all children have ended. Throws std::runtime_error in words when one of them fails
  /// or is still there after kStepLimit.
  void join();

 private:
  std::vector<pid_t> pids_;
};

/// "ended with status 3" or "was killed by signal 9 (Killed)", from what wait(2) reports.
std::string describe_end(int wait_status);

}  // namespace bench
