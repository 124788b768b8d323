// SPDX-License-Identifier: MIT
// Service threads and the failure detector's thread cost no processor while nothing happens.
#include <sys/resource.h>

#include <string>
#include <thread>

#include "dsfabric/support/message_job.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::Counter;
using support::ForkJob;
using support::in_counting_job;
using support::Member;
using support::require;
using support::send;

namespace {

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Sleeps for `time` until this process has used less than `limit` seconds of it: threads that
/// have just started may take a while to come to rest.
void require_rest(std::chrono::milliseconds time, double limit) {
  double used = 0;
  for (int i = 0; i < 10; ++i) {
    const double before = processor_seconds();
    std::this_thread::sleep_for(time);
    used = processor_seconds() - before;
    if (used < limit) return;
  }
  support::fail("used " + std::to_string(used) + " s of " + std::to_string(time.count()) + " ms");
}

}  // namespace

TEST_CASE("an_idle_fabric_uses_little_processor_time") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    config.service_threads = 2;
    Fabric fabric = member.join(config);
    require_rest(std::chrono::milliseconds(1000), 0.05);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("messages_to_workers_do_not_wake_service_threads") {
  in_counting_job(2, 1, [](Member& member, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      std::atomic<std::uint64_t>& rested = member.memory.words[0];
      std::atomic<std::uint64_t>& sent = member.memory.words[1];
      if (member.rank == 0) {
        require(support::eventually([&] { return rested == 1; }), "the other one rests");
        for (std::uint64_t i = 0; i < 100; ++i) {
          require(send(fabric, {{1}, 0}, i), "it lives");
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        sent = 1;
      } else {
        require_rest(std::chrono::milliseconds(100), 0.01);
        const double before = processor_seconds();
        rested = 1;
        while (sent == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        require(counter.received == 0, "they wait for their worker");
        const double used = processor_seconds() - before;
        require(used < 0.03, "used " + std::to_string(used) + " s");
      }
      self.barrier();
      require(member.rank == 0 || support::eventually([&] {
                self.progress();
                return counter.received == 100;
              }),
              "then it runs them");
    });
  });
}
