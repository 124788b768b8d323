// SPDX-License-Identifier: MIT
// Rings in a job that grows: to newcomers and from them, also where tables were made before.
#include <atomic>

#include "dsfabric/support/elastic_job.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/skip.hpp"

using namespace dsfabric;
using riutils::RDMAMessengerGlobal;
using support::ElasticForkJob;
using support::ElasticMemory;
using support::require;
using support::serve_while;

namespace {

constexpr std::uint64_t kRingCalls = 1000;
/// Of ElasticMemory::words.
constexpr std::size_t kCameToFounders = 0;
constexpr std::size_t kCameToNewcomers = 1;
constexpr std::size_t kRingsEnd = 2;

ElasticMemory* ring_memory = nullptr;

void count_at(std::size_t word) {
  // At the same address in all processes, which are forked.
  ++ring_memory->words[word];
}

void call_often(RDMAMessengerGlobal& calls, ThreadId to, std::size_t word) {
  for (std::uint64_t i = 0; i < kRingCalls; ++i) {
    require(calls.call(to, [word] { count_at(word); }), "a call by a ring");
  }
  calls.flush();
}

}  // namespace

TEST_CASE("rings_carry_calls_to_newcomers_and_from_them") {
  if (support::skipped_on_sim("newcomers come through the sockets of a launcher.")) return;
  ElasticForkJob job(2, 4, [](Fabric& fabric, ElasticMemory& memory) {
    ring_memory = &memory;
    fabric.run([&](Thread& self) {
      RDMAMessengerGlobal calls(self);
      // Its tables are made before anybody comes.
      call_often(calls, {{static_cast<std::uint16_t>(1 - fabric.process().value)}, 0},
                 kCameToFounders);
      for (const std::uint16_t newcomer : {std::uint16_t{2}, std::uint16_t{3}}) {
        serve_while(self, [&] { return !fabric.exists({{newcomer}, 0}); });
        call_often(calls, {{newcomer}, 0}, kCameToNewcomers);
      }
      serve_while(self, [&] { return memory.words[kRingsEnd] == 0; });
    });
  });
  for (int newcomer = 0; newcomer < 2; ++newcomer) {
    job.add([](Fabric& fabric, ElasticMemory& memory) {
      ring_memory = &memory;
      fabric.run([&](Thread& self) {
        RDMAMessengerGlobal calls(self);
        call_often(calls, {{0}, 0}, kCameToFounders);
        call_often(calls, {{1}, 0}, kCameToFounders);
        serve_while(self, [&] { return memory.words[kRingsEnd] == 0; });
      });
    });
  }
  const auto& words = job.memory().words;
  CHECK(support::eventually([&] { return words[kCameToFounders] == 6 * kRingCalls; }));
  CHECK(support::eventually([&] { return words[kCameToNewcomers] == 4 * kRingCalls; }));
  job.memory().words[kRingsEnd] = 1;
  for (std::size_t i = 0; i < job.started(); ++i) CHECK(job.wait(i) == "");
}
