// SPDX-License-Identifier: MIT
// What keeps a detached job: the process beside it that its launcher leaves behind.
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control.hpp"
#include "dsfabric/rendezvous_server.hpp"
#include "job_directory.hpp"
#include "options.hpp"

namespace run {

class Job;

/// Tells the launcher, by a pipe, that the job has started, or why not; answers requests while it
/// runs; removes its folder when it has ended. One thread, that of the Job.
class Keeper {
 public:
  /// Owns the descriptors of the folder, and the pipe.
  Keeper(const Options& options, const JobDirectory& directory, JobFolder folder, int launcher);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();

  /// Starts the job and stays until it has ended; its exit status.
  int run();

  // For the Job.
  /// Puts address and secret into the folder.
  void opened(const dsfabric::RendezvousServer& server);
  void watch(std::vector<pollfd>& into) const { control_.watch(into); }
  std::optional<std::chrono::steady_clock::time_point> next_deadline() const {
    return control_.next_deadline();
  }
  void handle(std::span<const pollfd> ready, Job& job);

 private:
  void check_start(Job& job);
  void tell_launcher(int status, const std::string& text);
  std::optional<std::string> answer(const std::string& request, Job& job);

  const Options& options_;
  const JobDirectory& directory_;
  JobFolder folder_;
  Control control_;
  std::string began_;
  /// -1: it has been told.
  int launcher_;
  /// The job cannot start any more.
  bool gives_up_ = false;
};

}  // namespace run
