// SPDX-License-Identifier: MIT
// What calls capture arrives whole: small ones are put together, others gathered from where they
// lie.
#include <array>
#include <cstdint>
#include <type_traits>

#include "dsfabric/support/ledger.hpp"
#include "riutils/support/ring_job.hpp"

using namespace dsfabric;
using riutils::RDMAMessengerGlobal;
using support::in_every_mode;
using support::ledger;
using support::require;
using support::require_equal;
using support::serve_until;

namespace {

/// A call with so many captured bytes.
template <std::size_t kBytes>
struct Captured {
  std::array<std::uint8_t, kBytes> bytes;
  explicit Captured(std::uint64_t seed) {
    for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::uint8_t>(seed + i * 5);
  }
  void operator()() const noexcept {
    for (std::size_t i = 0; i < kBytes; ++i) {
      ledger().wrong += bytes[i] != static_cast<std::uint8_t>(bytes[0] + i * 5);
    }
    ledger().sum += bytes[0];
    ++ledger().calls;
  }
};

/// Calls of all these sizes, one after the other, then each twice in a row.
template <std::size_t... kSizes>
std::uint64_t call_with_captures(RDMAMessengerGlobal& messenger, ThreadId to, std::uint64_t seed) {
  const auto call = [&](auto size) { require(messenger.call(to, Captured<size()>(seed)), "sent"); };
  (call(std::integral_constant<std::size_t, kSizes>()), ...);
  ((call(std::integral_constant<std::size_t, kSizes>()),
    call(std::integral_constant<std::size_t, kSizes>())),
   ...);
  return 3 * sizeof...(kSizes);
}

}  // namespace

TEST_CASE("captures_of_any_size_arrive_whole_whatever_was_called_before") {
  in_every_mode({}, [](Thread& self) {
    RDMAMessengerGlobal messenger(self);
    constexpr std::uint64_t kRounds = 50;
    std::uint64_t expected_calls = 0;
    std::uint64_t expected_sum = 0;
    for (std::uint64_t seed = 0; seed < kRounds; ++seed) {
      const std::uint64_t made =
          call_with_captures<1, 7, 8, 9, 12, 16, 31, 32, 33, 40, 44, 64, 100, 256, 300, 304, 305,
                             312, 320, 1000>(messenger, self.neighbour(1), seed);
      expected_calls += made;
      expected_sum += made * seed;
    }
    serve_until(self, [&] { return ledger().calls == expected_calls; });
    require_equal(ledger().wrong.load(), 0u, "wrong bytes");
    require_equal(ledger().sum.load(), expected_sum, "first bytes in all");
    self.barrier();
  });
}
