// SPDX-License-Identifier: MIT
// What benches of calls share, whatever channel carries them: what arrived, and two dialogues.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "bench/fabric/node.hpp"

namespace fabric_bench {

/// What calls change in the process where they run; its worker only.
struct Arrived {
  std::uint64_t calls = 0;
  std::uint64_t sum = 0;
  /// Sum of the other side, plus one.
  std::uint64_t acknowledged = 0;
};
inline Arrived& arrived() noexcept {
  static Arrived here;
  return here;
}

constexpr bool accepted(dsfabric::CallStatus status) noexcept {
  return status == dsfabric::CallStatus::kAccepted;
}
inline void require(bool condition, const char* what) {
  if (!condition) [[unlikely]] {
    throw std::runtime_error(what);
  }
}
inline void require(dsfabric::CallStatus status, const char* what) {
  require(accepted(status), what);
}

template <class Done>
void serve_until(dsfabric::Thread& self, Done&& done) {
  while (!done()) self.progress();
}

/// One call of 8 bytes.
struct Ping {
  std::uint64_t number;
  void operator()() const noexcept {
    ++arrived().calls;
    arrived().sum += number;
  }
};

/// For on_worker: process 0 calls, process 1 calls back, both this often. ns for one way.
/// `make_channel(self)` is the channel.
template <class MakeChannel>
auto ping_pong(MakeChannel make_channel) {
  return [make_channel](dsfabric::Thread& self, bench::Batch& batch) {
    auto channel = make_channel(self);
    const dsfabric::ThreadId to = self.neighbour(1);
    const bool starts = batch.rank() == 0;
    std::uint64_t expected = 0;
    const double took_ns = batch.time_ns([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        ++expected;
        if (!starts) serve_until(self, [&] { return arrived().calls == expected; });
        require(channel.call(to, Ping{i}), "the peer is gone");
        if (starts) serve_until(self, [&] { return arrived().calls == expected; });
      }
    });
    arrived() = {};
    return took_ns / static_cast<double>(2 * batch.iterations());
  };
}

/// For on_worker: half of a call and its result, in ns. Process 1 serves until it is told to stop.
template <class MakeChannel>
auto ask(MakeChannel make_channel) {
  return [make_channel](dsfabric::Thread& self, bench::Batch& batch) {
    auto channel = make_channel(self);
    const dsfabric::ThreadId to = self.neighbour(1);
    if (batch.rank() != 0) {
      serve_until(self, [] { return arrived().acknowledged != 0; });
      arrived() = {};
      return 0.0;
    }
    dsfabric::ReturnSlot<std::uint64_t> slot(self.fabric());
    const double ns = batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        const auto sent = channel.call_return(
            to, [i] { return i + 1; }, slot);
        require(sent, "the peer is gone");
        require(slot.get() == i + 1, "a wrong result");
      }
    });
    require(channel.call(to, [] { arrived().acknowledged = 1; }), "the peer is gone");
    return ns / 2;
  };
}

}  // namespace fabric_bench
