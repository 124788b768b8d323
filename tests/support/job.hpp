// SPDX-License-Identifier: MIT
// Runs a command from a test: its output, its exit status, within a limit of time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace support {

struct JobOptions {
  /// NAME=VALUE, on top of the test's own environment.
  std::vector<std::string> environment;
  /// What the command reads.
  std::string input;
  std::chrono::milliseconds limit{30'000};
};

struct JobResult {
  /// Exit status, or 128 + signal.
  int status = 0;
  std::string out;
  std::string err;
  /// It took longer than the limit and was killed.
  bool late = false;
  std::chrono::milliseconds took{0};
  std::vector<std::string> out_lines() const;
};

/// A command in a process group of its own, which dies with the test. For what cannot be forked
/// from a test: a launcher, a program with a main of its own.
class Job {
 public:
  explicit Job(const std::vector<std::string>& command, const JobOptions& options = {});
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  /// Kills what is left of the group.
  ~Job();

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) noexcept;
  /// Reads until stdout holds `text`; false when it ended or the limit passed first.
  bool wait_for_output(const std::string& text);
  /// Waits for the end of the command and of its output.
  JobResult wait();

 private:
  /// Reads what there is, waiting at most 20 ms; false when both streams have ended.
  bool pump();
  bool over_limit() const;

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  bool reaped_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds limit_;
  JobResult result_;
};

/// Starts it and waits.
JobResult run_job(const std::vector<std::string>& command, const JobOptions& options = {});

/// A program of this build: "apps/run/cariama-run", relative to the build folder.
std::string built(const std::string& path);

}  // namespace support
