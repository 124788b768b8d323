// SPDX-License-Identifier: MIT
// The log says who joined, how, and who failed.
#include "dtutils/log.hpp"

#include <mutex>
#include <string>

#include "dsfabric/dsfabric.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "dsfabric/support/killed_job.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

namespace {

using dsfabric::Fabric;
using support::ForkJob;
using support::Member;

/// All messages of this process, one a line.
class LogText {
 public:
  LogText() {
    dtutils::set_log_level(dtutils::LogLevel::kInfo);
    dtutils::set_log_sink([this](dtutils::LogLevel, std::string_view who, std::string_view text) {
      const std::scoped_lock lock(mutex_);
      text_ += std::string(who) + ": " + std::string(text) + "\n";
    });
  }
  bool holds(std::string_view part) {
    const std::scoped_lock lock(mutex_);
    return text_.find(part) != std::string::npos;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

}  // namespace

TEST_CASE("the_log_names_the_job_and_processes_that_fail") {
  ForkJob job(2, [](Member& member) {
    static LogText log;
    dsfabric::Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    // Each node of a simulation is a machine.
    const std::string machines = support::on_simulated_device() ? "2" : "1";
    const std::string self = "process " + std::to_string(member.rank) + ": ";
    support::require(log.holds(self + "joined a job of 2 processes on " + machines +
                               " machines by fork; 1 workers"),
                     "what this process joined");
    if (member.rank == 1) {
      member.memory.words[0] = 1;
      support::serve_nothing();
    }
    support::require(support::eventually([&] {
                       fabric.progress();
                       return log.holds("process 0: process 1 failed: ");
                     }),
                     "who failed");
  });
  CHECK(support::eventually([&] { return job.memory().words[0] == 1; }));
  job.kill(1);
  CHECK(job.wait() == "1: signal 9\n");
}
