// SPDX-License-Identifier: MIT
// One run of a job: starts the processes, passes their output on, and ends everything in the end.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child.hpp"
#include "dsfabric/rendezvous_server.hpp"
#include "options.hpp"

namespace run {

class Keeper;

/// One thread. SIGINT, SIGTERM, SIGHUP and SIGCHLD must be blocked: they are read from a
/// descriptor.
class Job {
 public:
  /// With a keeper it is a detached job, which only SIGTERM ends, or who asks the keeper.
  explicit Job(const Options& options, Keeper* keeper = nullptr);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  /// Returns the exit status of the launcher; the reason of a failure is the last line printed.
  int run();

  /// Ends it as a signal to the launcher does; the first reason counts.
  void end(int status, const std::string& reason);
  /// Why it is not well; empty: it is.
  const std::string& reason() const noexcept { return reason_; }
  const dsfabric::RendezvousServer& rendezvous() const noexcept { return *server_; }
  /// The processes that it started with, by rank; nullptr: another one has taken the place.
  std::vector<const Child*> founders() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// A place whose process has failed.
  struct Vacancy {
    std::uint32_t rank;
    Clock::time_point due;
  };
  void start();
  std::unique_ptr<Child> make_child(std::uint32_t rank, bool newcomer) const;
  /// The first one that fails says how the job has ended.
  void fail(const Child& child);
  /// Whether another process takes the place of one that has failed.
  bool replaces(const Child& failed);
  void fill_vacancies();
  void step();
  void take_signals();
  void reap();
  void note_ending(Child& child);
  void forward_input();
  void check_times();
  /// Ends what still runs: SIGTERM now, SIGKILL two seconds later.
  void end_all();
  int poll_timeout() const;
  bool finished() const;

  const Options& options_;
  Keeper* const keeper_;
  const std::vector<Place> places_;
  /// Empty: these processes join another job, and there is no keeper.
  std::optional<dsfabric::RendezvousServer> server_;
  std::string secret_;
  /// It does not wait for those that other launchers have started.
  bool ends_ = false;
  int signals_ = -1;
  bool read_input_ = true;
  std::vector<std::unique_ptr<Child>> children_;
  std::vector<Vacancy> vacancies_;
  /// Processes that took the place of others, by their number and by rank.
  std::uint32_t newcomers_ = 0;
  std::vector<bool> replaced_;
  Clock::time_point started_ = Clock::now();
  std::optional<Clock::time_point> end_at_;
  std::optional<Clock::time_point> kill_at_;
  std::optional<Clock::time_point> strike_at_;
  int status_ = 0;
  std::string reason_;
};

}  // namespace run
