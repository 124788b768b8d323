// SPDX-License-Identifier: MIT
// One process of the job as the launcher sees it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "output.hpp"
#include "place.hpp"

namespace run {

/// How a process ended.
struct Ending {
  /// Exit status, or 128 + signal.
  int status;
  /// "exited with status 3", "was killed by signal 11 (Segmentation fault)".
  std::string words;
};

class Child {
 public:
  /// Starts the process here or by ssh, in a process group of its own that dies with the launcher.
  /// `environment` is NAME=VALUE; `secret` is never put on a command line. Throws dtutils::Error.
  Child(std::uint32_t rank, const Place& place, const Options& options,
        const std::vector<std::string>& environment, const std::string& secret);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Kills what is left of it.
  ~Child();

  std::uint32_t rank() const noexcept { return rank_; }
  pid_t pid() const noexcept { return pid_; }
  bool running() const noexcept { return !ending_; }
  const std::optional<Ending>& ending() const noexcept { return ending_; }
  std::vector<Output>& outputs() noexcept { return outputs_; }

  void kill_with(int signal) noexcept;
  /// After SIGCHLD: true when it has just ended.
  bool reap();
  /// What the launcher read on its own input, for rank 0. Empty text: the end of it. Never waits. A
  /// process on another host gets none of it: its input says only that the launcher lives.
  void feed(const std::string& text);
  /// Passes on more of it; call when `input_fd` can be written to.
  void flush_input();
  /// -1 when the process takes no more input.
  int input_fd() const noexcept { return input_; }
  bool has_pending_input() const noexcept { return !pending_input_.empty(); }

 private:
  std::uint32_t rank_;
  bool remote_;
  pid_t pid_ = -1;
  int input_ = -1;
  std::string pending_input_;
  bool input_ends_ = false;
  std::vector<Output> outputs_;
  std::optional<Ending> ending_;
};

}  // namespace run
