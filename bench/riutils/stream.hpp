// SPDX-License-Identifier: MIT
// Streams of calls from process 0 to process 1, and the proof that all of them ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "bench/fabric/calls.hpp"
#include "riutils/riutils.hpp"

namespace ring_bench {

using fabric_bench::accepted;
using fabric_bench::arrived;
using fabric_bench::require;
using fabric_bench::serve_until;

/// The type of calls whose handler looks at all it is given.
inline constexpr int kReadsAll = 2;

/// The calls: payloads of 8-byte words, of which the handler adds the first to a plain counter.
/// Several types, so that they can come in turns.
template <std::size_t kBytes, int kType>
struct Payload {
  std::uint64_t words[kBytes / 8];
  void operator()() const noexcept {
    ++arrived().calls;
    if constexpr (kType == kReadsAll) {
      std::uint64_t all = 0;
      for (const std::uint64_t word : words) all ^= word;
      asm volatile("" ::"r"(all));
    }
    arrived().sum += words[0] + kType;
  }
};

/// Process 1 of a stream: runs `calls` calls, then says so. Process 0 waits for that.
inline void serve_stream(dsfabric::Thread& self, std::uint64_t calls) {
  riutils::RDMAMessengerGlobal messenger(self);
  serve_until(self, [&] { return arrived().calls >= calls; });
  const std::uint64_t sum = std::exchange(arrived(), {}).sum;
  require(messenger.call(self.neighbour(1), [sum] { arrived().acknowledged = sum + 1; }),
          "the peer is gone");
}
inline void await_stream(dsfabric::Thread& self, std::uint64_t sum) {
  serve_until(self, [] { return arrived().acknowledged != 0; });
  require(std::exchange(arrived(), {}).acknowledged == sum + 1,
          "calls were lost or changed on their way");
}

/// Makes the calls through any channel, of two types in turn. Returns the sum.
template <std::size_t kBytes, int kEven, int kOdd, class Channel>
std::uint64_t make_calls(dsfabric::Thread& self, Channel& channel, std::uint64_t calls) {
  const dsfabric::ThreadId to = self.neighbour(1);
  Payload<kBytes, kEven> even;
  Payload<kBytes, kOdd> odd;
  std::memset(even.words, 1, kBytes);
  std::memset(odd.words, 1, kBytes);
  std::uint64_t sum = 0;
  bool sent = true;
  for (std::uint64_t i = 0; i + 1 < calls; i += 2) {
    even.words[0] = i;
    // As if the bytes came from elsewhere: they are copied anew for each call.
    asm volatile("" ::"r"(&even) : "memory");
    sent = accepted(channel.call(to, even)) && sent;
    odd.words[0] = i;
    asm volatile("" ::"r"(&odd) : "memory");
    sent = accepted(channel.call(to, odd)) && sent;
    sum += 2 * i + kEven + kOdd;
  }
  require(sent, "a call was refused");
  return sum;
}

/// A variant that measures calls a second, the end of the last one included. Process 1 serves.
template <std::size_t kBytes, int kEven, int kOdd = kEven, class MakeChannel>
bench::Variant calling(const std::string& name, const fabric_bench::NodePtr& node,
                       MakeChannel make_channel, const std::string& bar = "") {
  const auto run = fabric_bench::on_worker(node, [=](dsfabric::Thread& self, bench::Batch& batch) {
    const std::uint64_t calls = (batch.iterations() + 1) / 2 * 2;
    if (batch.rank() != 0) {
      serve_stream(self, calls);
      return 0.0;
    }
    auto channel = make_channel(self);
    const double ns = batch.time_ns([&] {
      const std::uint64_t sum = make_calls<kBytes, kEven, kOdd>(self, *channel, calls);
      if constexpr (requires { channel->flush(); }) (void)channel->flush();
      await_stream(self, sum);
    });
    return static_cast<double>(calls) * 1e9 / ns;
  });
  return {.name = name, .measure = run, .assist = run, .bar = bar};
}

}  // namespace ring_bench
