// SPDX-License-Identifier: MIT
// Service threads and the failure detector's thread cost no processor while nothing happens.
#include <sys/resource.h>

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
  in_counting_job(2, 1, [](Member& member, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const double before = processor_seconds();
      for (std::uint64_t i = 0; i < 100 && member.rank == 0; ++i) {
        require(send(fabric, {{1}, 0}, i), "it lives");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (member.rank == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
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
