// SPDX-License-Identifier: MIT
// Rings under everything at once: payloads that look like headers, peers that die in mid-traffic.
#include <array>
#include <cstring>
#include <thread>

#include "riutils/support/ring_job.hpp"

using namespace dsfabric;
using namespace riutils;
using riutils::detail::RingHeader;
using support::ForkJob;
using support::in_every_mode;
using support::Member;
using support::require;
using support::require_equal;
using support::serve_until;

namespace {

std::uint64_t& received(ThreadId from) {
  static std::array<std::uint64_t, 64> counts{};
  return counts[from.process.value * 8u + from.index];
}
std::uint64_t& wrong() {
  static std::uint64_t count = 0;
  return count;
}

/// Words that a receiver would take for something else if it looked at the wrong place or time.
std::uint64_t imitation(std::uint64_t i) {
  switch (i % 5) {
    case 0:
      return RingHeader{RingHeader::kControl, 0, 0}.encode();
    case 1:
      return RingHeader{static_cast<std::uint32_t>(i % 40), 1, 8}.encode();
    case 2:
      return RingHeader{static_cast<std::uint32_t>(i % 40), 3, 8}.encode();
    case 3:
      return ~std::uint64_t{0};
    default:
      return 0;
  }
}

struct Imitations {
  std::uint64_t number;
  void operator()(CallContext& call, const std::byte* data, std::uint32_t bytes) const {
    wrong() += number != received(call.source)++;
    for (std::uint32_t at = 0; at + 8 <= bytes; at += 8) {
      std::uint64_t word;
      std::memcpy(&word, data + at, sizeof word);
      wrong() += word != imitation(number + at / 8);
    }
  }
};

}  // namespace

TEST_CASE("payloads_that_imitate_headers_are_never_taken_for_them") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  // Sizes change all the time, so in each lap other words stand where headers stood before.
  for (const bool gathered : {false, true}) {
    in_every_mode({}, [&](Thread& self) {
      support::Random random(seed + self.id().process.value);
      RDMAAggregator aggregator(self, {.mode = gathered ? AggregatorOptions::Mode::kTraditional
                                                        : AggregatorOptions::Mode::kOverflow,
                                       .ring = {512, 2, 3, 4096},
                                       .flush_bytes = 200});
      constexpr std::uint64_t kCalls = 2500;
      std::array<std::uint64_t, 40> words;
      for (std::uint64_t i = 0; i < kCalls; ++i) {
        const std::size_t count = random.below(words.size() + 1);
        for (std::size_t at = 0; at < count; ++at) words[at] = imitation(i + at);
        const auto bytes = std::as_bytes(std::span(words.data(), count));
        require(aggregator.call_buffer(self.neighbour(1), Imitations{i}, bytes), "made");
        if (random.one_in(50)) self.progress();
      }
      serve_until(self,
                  [&] { return aggregator.flush() && received(self.neighbour(1)) == kCalls; });
      require_equal(wrong(), 0u, "wrong calls");
      self.barrier();
    });
  }
}

TEST_CASE("survivors_go_on_when_a_peer_dies_in_mid_traffic") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  for (int point = 0; point < 12; ++point) {
    CAPTURE(seed, point);
    ForkJob job(3, [&](Member& member) {
      Config config;
      config.threads = 1;
      Fabric fabric = member.join(config);
      const ProcessId victim{2};
      try {
        fabric.run([&](Thread& self) {
          RDMAMessengerGlobal messenger(self, {{512, 2, 2, 2048}});
          RDMAAggregator aggregator(self);
          self.barrier();
          member.memory.words[0]++;
          dtutils::Deadline deadline(std::chrono::seconds(20));
          const auto nothing = [] {};
          const ThreadId other{ProcessId{static_cast<std::uint16_t>(1 - member.rank % 2)}, 0};
          while (member.rank == 2 || !fabric.failed(victim)) {
            require(!deadline.passed(), "the death is noticed");
            // Whoever is alive takes calls; kPeerGone comes from the dead only.
            (void)messenger.call({victim, 0}, nothing);
            (void)aggregator.call({victim, 0}, nothing);
            require(messenger.call(other, nothing), "to a survivor");
            self.progress();
          }
          // The ring ends with the connection, which is broken after the failure is known.
          require(support::eventually([&] {
                    return messenger.call({victim, 0}, nothing) == CallStatus::kPeerGone;
                  }),
                  "no calls to the dead");
          static std::uint64_t after = 0;
          for (int i = 0; i < 500; ++i) require(messenger.call(other, [] { ++after; }), "made");
          serve_until(self, [] { return after == 500; });
          member.memory.processes[member.rank].result = after;
        });
      } catch (const PeerFailed&) {
        // The end of run() is a collective.
      }
    });
    CHECK(support::eventually([&] { return job.memory().words[0] == 3; }));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
    job.kill(2);
    const std::string bad = job.wait(std::chrono::seconds(40));
    CAPTURE(bad);
    CHECK(bad == "2: signal 9\n");
    CHECK(job.memory().processes[0].result == 500);
    CHECK(job.memory().processes[1].result == 500);
  }
}
