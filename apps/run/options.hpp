// SPDX-License-Identifier: MIT
// The launcher's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace run {

enum class Bind { kNone, kCore, kZone };

struct Options {
  /// What this launcher is called: "scripts/run", or the name of the installed program.
  std::string name;
  std::uint32_t processes = 1;
  /// Worker threads of each process; 0: the fabric's default.
  std::uint32_t threads = 0;
  Bind bind = Bind::kNone;
  /// "a:4": host and processes there. Empty: all on this machine.
  std::vector<std::string> hosts;
  /// Where the rendezvous listens, as an address that all hosts reach.
  std::string address;
  std::uint16_t port = 0;
  /// Processes that the job may have in the course of its life; 0: they are fixed.
  std::uint32_t elastic = 0;
  /// Of an elastic job: seconds after which a process that failed is replaced; none: it is not.
  std::optional<double> replace;
  /// Of a running job that these processes shall come to; empty: a job of its own.
  std::string join;
  /// Where the secret of an elastic job is written to, and read from by those who join it.
  std::string secret_file;
  /// The job outlives this launcher, under this name (empty: one is made), with its output there
  /// (empty: beside its state).
  bool detach = false;
  std::string job_name;
  std::string log;
  /// Start nothing, but look at this detached job, or list all of them when it is empty.
  std::optional<std::string> attach;
  bool follow = false;
  bool end = false;
  bool json = false;
  /// Seconds the job may take; 0: no limit.
  double timeout = 0;
  /// Seconds between the first failure and the end of the survivors.
  double grace = 5;
  bool keep_going = false;
  bool prefix = true;
  std::vector<std::string> environment;
  /// For tests of failure: this rank gets SIGKILL after so many seconds.
  std::optional<std::uint32_t> kill_rank;
  double kill_after = 0;
  std::vector<std::string> command;
};

/// What the user called: "scripts/run" (that script says so), or the last part of the path.
std::string launcher_name(const char* argv0);

/// Empty when the program should end at once with `status` (help, or an error that was printed).
std::optional<Options> parse(int argc, char** argv, int& status);

}  // namespace run
