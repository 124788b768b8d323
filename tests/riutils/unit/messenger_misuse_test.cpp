// SPDX-License-Identifier: MIT
// What a messenger refuses: destinations, sizes, options that its rings do not have, other threads.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dsfabric/support/ledger.hpp"
#include "dtutils/log.hpp"
#include "riutils/support/ring_job.hpp"
#include "support/error_text.hpp"

using namespace dsfabric;
using namespace riutils;
using support::in_every_mode;
using support::ledger;
using support::require;
using support::serve_until;
using support::small_ring;

TEST_CASE("unknown_destinations_and_oversized_calls_are_refused") {
  in_every_mode({}, [](Thread& self) {
    RDMAMessengerGlobal messenger(self, {small_ring()});
    const auto nothing = [] {};
    for (const ThreadId to : {ThreadId{ProcessId{7}, 0}, ThreadId{ProcessId{0}, 5},
                              ThreadId::service_of(ProcessId{0})}) {
      const std::string text = support::error_text([&] { (void)messenger.call(to, nothing); });
      require(text.find(to.is_service() ? "no rings" : "no such thread") != std::string::npos,
              text);
    }
    const std::vector<std::byte> large(2000);
    const auto take = [](CallContext&, std::byte*, std::uint32_t) {};
    const std::string text =
        support::error_text([&] { (void)messenger.call_buffer(self.neighbour(1), take, large); });
    require(text.find("chunk") != std::string::npos, text);
    require(messenger.call(self.neighbour(1), [] { ++ledger().calls; }), "and calls go on");
    serve_until(self, [] { return ledger().calls == 1; });
    self.barrier();
  });
}

TEST_CASE("a_limit_of_more_chunks_than_a_ring_counts_is_refused") {
  in_every_mode({}, [](Thread& self) {
    RDMAMessengerGlobal messenger(self, {{.chunk_limit = UINT32_MAX}});
    const std::string text =
        support::error_text([&] { (void)messenger.call(self.neighbour(1), [] {}); });
    require(text.find("chunk_limit is 4294967295") != std::string::npos, text);
    self.barrier();
  });
}

TEST_CASE("channel_whose_options_the_ring_does_not_have_says_so") {
  in_every_mode({}, [](Thread& self) {
    RDMAMessengerGlobal first(self, {small_ring()});
    require(first.call(self.neighbour(1), [] { ++ledger().calls; }), "it makes the ring");
    std::string told;
    dtutils::set_log_level(dtutils::LogLevel::kInfo);
    dtutils::set_log_sink([&](dtutils::LogLevel, std::string_view, std::string_view line) {
      if (line.find("RingOptions") != line.npos) told += std::string(line) + "\n";
    });
    const RDMAMessengerGlobal same(self, {small_ring()});
    require(told.empty(), told);
    RDMAMessengerGlobal second(self, {{1u << 20, 2, 4, 1u << 20}});
    const RDMAMessengerGlobal third(self);
    dtutils::set_log_level(dtutils::LogLevel::kOff);
    dtutils::set_log_sink({});
    require(told.find("asks for RingOptions that 1 of its rings") != std::string::npos, told);
    require(std::ranges::count(told, '\n') == 1, "told once");
    const std::vector<std::byte> large(2000);
    const auto take = [](CallContext&, std::byte*, std::uint32_t) {};
    const std::string text =
        support::error_text([&] { (void)second.call_buffer(self.neighbour(1), take, large); });
    require(text.find("asks for chunks of 1048576") != std::string::npos, text);
    require(text.find("same RingOptions") != std::string::npos, text);
    serve_until(self, [] { return ledger().calls == 1; });
    self.barrier();
  });
}

#ifndef NDEBUG
TEST_CASE("messenger_of_another_thread_is_caught_by_an_assertion") {
  const std::string ends = support::run_job({}, 0, [](Thread& self) {
    RDMAMessengerGlobal messenger(self);
    std::thread other([&] { (void)messenger.call(self.neighbour(1), [] {}); });
    other.join();
  });
  CHECK(ends == "0: signal 6\n1: signal 6\n");
}

TEST_CASE("messenger_that_outlives_run_is_caught_by_an_assertion") {
  support::ForkJob job(1, [](support::Member& member) {
    dsfabric::Fabric fabric = member.join({});
    std::optional<RDMAMessengerGlobal> kept;
    fabric.run([&](Thread& self) {
      if (self.id().index == 0) kept.emplace(self);
    });
    (void)kept->call({dsfabric::ProcessId{0}, 0}, [] {});
  });
  CHECK(job.wait() == "0: signal 6\n");
}
#endif
