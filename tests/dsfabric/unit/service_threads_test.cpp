// SPDX-License-Identifier: MIT
// Service threads and the watch thread cost no processor while nothing happens.
#include <sys/resource.h>

#include "dsfabric/support/fork_job.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;

namespace {

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

TEST_CASE("an_idle_fabric_uses_little_processor_time") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    config.service_threads = 2;
    Fabric fabric = member.join(config);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const double before = processor_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    const double used = processor_seconds() - before;
    require(used < 0.05, "used " + std::to_string(used) + " s of 1 s");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("messages_to_workers_do_not_wake_service_threads") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    std::atomic<int> ran{0};
    fabric.set_dispatcher(MessageKind::kFirstFree, {[](void* context, const Incoming&) {
                                                      ++*static_cast<std::atomic<int>*>(context);
                                                      return true;
                                                    },
                                                    &ran});
    fabric.run([&](Thread& self) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const double before = processor_seconds();
      for (int i = 0; i < 100 && member.rank == 0; ++i) {
        SendSpace space(fabric, {1}, 8);
        require(space.commit(MessageKind::kFirstFree, {{1}, 0}), "it lives");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (member.rank == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        require(ran == 0, "they wait for their worker");
        const double used = processor_seconds() - before;
        require(used < 0.03, "used " + std::to_string(used) + " s");
      }
      self.barrier();
      require(member.rank == 0 || support::eventually([&] {
                self.progress();
                return ran == 100;
              }),
              "then it runs them");
    });
  });
  CHECK(job.wait() == "");
}
