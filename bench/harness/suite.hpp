// SPDX-License-Identifier: MIT
// A bench program: its cases, its processes, its command line and its report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/harness/control_block.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"

namespace bench {

class Director;

/// The one class that a bench's main() needs; see bench.hpp for an example. Setup only.
//
/// run() forks the other processes before it calls anything of the bench's. So main() must not
/// open a device or start a thread before run(); it does so in `setup`. What the callbacks capture
/// by reference is, after the fork, a copy of each process's own: process 0 and process 1 each open
/// "the" device and keep it in the same variable without meeting. Only SharedMemory is shared.
//
/// Processes are pinned: process i to the i-th core that this program may use, modulo their number.
/// Threads that a bench starts inherit that; pin_this_thread() (pin.hpp) places them elsewhere.
class Suite {
 public:
  Suite(int argc, char** argv, std::string name, std::string description = "");

  /// Processes in all, the parent included: 2 unless told, at most kMaxProcesses. Throws
  /// std::invalid_argument for fewer than 2 or more.
  Suite& processes(int count);

  /// An option of this bench's own, such as "--device". `value` holds the default.
  Suite& option(const std::string& flag, std::string& value, const std::string& help);

  /// Run once in every process at the same time: before the first case, and after the last.
  Suite& setup(std::function<void(Channel&)> function);
  Suite& teardown(std::function<void(Channel&)> function);

  /// Throws std::invalid_argument when the case contradicts itself or its id is taken.
  Suite& add(Case item);

  /// Runs everything and prints the table. Returns main()'s exit status: 0; 1 when something
  /// failed, when a figure was not finite and positive, or with --check when a bar was missed or
  /// could not be judged; 2 for a wrong command line. Returns in process 0 only; the others end
  /// inside. A process that dies, throws or exceeds kStepLimit ends the bench with a sentence on
  /// stderr and status 1.
  int run();

 private:
  void keep_matching(const std::string& filter);
  int measure(const Options& options);
  Report run_cases(Channel& channel, Director& director, const Options& options);
  int run_child(ControlBlock& block, int rank, const std::vector<int>& cores, bool smoke);

  int argc_;
  char** argv_;
  std::string name_;
  std::string description_;
  int processes_ = 2;
  std::vector<OwnOption> options_;
  std::function<void(Channel&)> setup_;
  std::function<void(Channel&)> teardown_;
  std::vector<Case> cases_;
};

}  // namespace bench
