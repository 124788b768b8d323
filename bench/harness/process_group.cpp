// SPDX-License-Identifier: MIT
// fork, prctl, waitpid.
#include "bench/harness/process_group.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "bench/harness/wait.hpp"

namespace bench {

ProcessGroup::ProcessGroup(int count, const std::function<int(int)>& child) {
  const pid_t parent = ::getpid();
  std::fflush(nullptr);  // or a child would print what is still buffered a second time
  for (int rank = 1; rank < count; ++rank) {
    const pid_t pid = ::fork();
    if (pid < 0) {
      throw std::system_error(errno, std::generic_category(), "cannot fork a process of the bench");
    }
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
      const int status = child(rank);
      std::fflush(nullptr);
      ::_exit(status);
    }
    pids_.push_back(pid);
  }
}

ProcessGroup::~ProcessGroup() {
  for (const pid_t pid : pids_) {
    if (pid < 0) continue;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

void ProcessGroup::join() {
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    int status = 0;
    wait_until([&] { return ::waitpid(pids_[i], &status, WNOHANG) == pids_[i]; },
               "a process of the bench to end");
    pids_[i] = -1;
    if (status != 0) {
      throw std::runtime_error(fmt::format("process {} {}", i + 1, describe_end(status)));
    }
  }
}

std::string describe_end(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    return fmt::format("was killed by signal {} ({})", number, ::strsignal(number));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(wait_status));
}

}  // namespace bench
