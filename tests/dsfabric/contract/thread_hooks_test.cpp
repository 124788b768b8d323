// SPDX-License-Identifier: MIT
// Work of layers above: steps of progress(), and what is done when a worker begins.
#include <atomic>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

/// A step that counts itself, and adds others when it runs first.
struct Step {
  Thread& worker;
  std::vector<Step>* adds = nullptr;
  int runs = 0;

  ProgressHook hook() {
    return {[](void* self) { return static_cast<Step*>(self)->run(); }, this};
  }
  bool run() {
    ++runs;
    if (adds == nullptr) return false;
    for (Step& other : *adds) worker.add_hook(other.hook());
    adds = nullptr;
    return true;
  }
};

}  // namespace

TEST_CASE("hooks_may_be_added_and_removed_by_a_hook") {
  const auto work = [](Thread& self) {
    std::vector<Step> others(100, Step{self});
    Step first{self, &others};
    self.add_hook(first.hook());
    for (int i = 0; i < 3; ++i) self.progress();
    require_equal(first.runs, 3, "runs of the first");
    for (const Step& other : others) require(other.runs >= 2, "those that were added run");
    self.remove_hook(first.hook());
    for (Step& other : others) self.remove_hook(other.hook());

    struct Leaver {
      Thread& worker;
      int runs = 0;
      static bool run(void* self) {
        auto& it = *static_cast<Leaver*>(self);
        ++it.runs;
        it.worker.remove_hook({run, self});
        return false;
      }
    } leaver{self};
    self.add_hook({Leaver::run, &leaver});
    for (int i = 0; i < 3; ++i) self.progress();
    require_equal(leaver.runs, 1, "runs of one that removes itself");
  };
  CHECK(support::run_job({.processes = 1}, 0, work) == "");
}

TEST_CASE("hook_that_is_added_twice_runs_once") {
  const auto work = [](Thread& self) {
    Step step{self};
    self.add_hook(step.hook());
    self.add_hook(step.hook());
    self.progress();
    require_equal(step.runs, 1, "runs");
    self.remove_hook(step.hook());
    self.progress();
    require_equal(step.runs, 1, "runs after it was removed");
  };
  CHECK(support::run_job({.processes = 1}, 0, work) == "");
}

TEST_CASE("thread_starts_are_called_on_each_worker_of_later_runs") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    std::atomic<int> starts{0};
    std::atomic<int> late{0};
    fabric.at_thread_start([&](Thread& worker) {
      require(worker.fabric().current_thread() == &worker, "on the worker itself");
      ++starts;
    });
    fabric.run([&](Thread& self) {
      self.barrier();
      require_equal(starts.load(), 2, "starts before work");
      if (self.id().index == 0) fabric.at_thread_start([&](Thread&) { ++late; });
    });
    require_equal(late.load(), 0, "starts of a run that had begun");
    fabric.run([&](Thread& self) { self.barrier(); });
    require_equal(starts.load(), 4, "starts");
    require_equal(late.load(), 2, "late starts");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("thread_start_that_throws_ends_the_run") {
  ForkJob job(1, [](Member& member) {
    Fabric fabric = member.join({});
    fabric.at_thread_start([](Thread&) { throw std::runtime_error("no luck"); });
    bool worked = false;
    try {
      fabric.run([&](Thread&) { worked = true; });
      require(false, "run() throws");
    } catch (const std::runtime_error& error) {
      require(std::string_view(error.what()) == "no luck", "it throws what the start threw");
    }
    require(!worked, "its work does not begin");
  });
  CHECK(job.wait() == "");
}
