// SPDX-License-Identifier: MIT
// Where bytes lie in a ring that grows, and what its sender may not do meanwhile.
#include <vector>

#include "dtutils/device.hpp"
#include "dtutils/wait.hpp"
#include "packetized.hpp"
#include "ring.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"
#include "support/require.hpp"

using namespace streams;
using namespace support;

TEST_CASE("bytes_of_both_rings_are_apart") {
  Ring ring({kSmallestRing, 4 * kSmallestRing});
  CHECK(ring.may_grow());
  CHECK(ring.place_of(5 * kSmallestRing + 7).offset == 7);
  CHECK(ring.place_of(5 * kSmallestRing + 7).run == kSmallestRing - 7);
  constexpr std::uint64_t kGrownAt = 5 * kSmallestRing + 100;
  ring.grow(kGrownAt);
  CHECK_FALSE(ring.may_grow());
  CHECK(ring.size() == 4 * kSmallestRing);
  // Bytes before that one are in the first ring still, and no piece goes on behind them.
  CHECK(ring.place_of(kGrownAt - 1).offset == 99);
  CHECK(ring.place_of(kGrownAt - 1).run == 1);
  CHECK(ring.place_of(kGrownAt - 300).run == 200);
  CHECK(ring.place_of(kGrownAt).offset == kSmallestRing + kGrownAt % (4 * kSmallestRing));
  CHECK(ring.place_of(kGrownAt).run == 4 * kSmallestRing - kGrownAt % (4 * kSmallestRing));
  CHECK(ring.place_of(8 * kSmallestRing).offset == kSmallestRing);
}

namespace {

/// Two sides in one process, and a ring of `there` that it has offered to make larger.
struct GrowingSides {
  GrowingSides() {
    here.meet(there.introduction());
    there.meet(here.introduction());
    const iovec buffer{bytes.data(), bytes.size()};
    for (std::uint32_t i = 0; i < kFullBeforeOffer; ++i) {
      REQUIRE(here.send({&buffer, 1}).bytes == kRing);
      REQUIRE(there.receive({&buffer, 1}).bytes == kRing);
    }
  }
  /// Of so many small sends, how many left bytes packed.
  int send_small(std::uint32_t times) {
    int packed = 0;
    const iovec buffer{bytes.data(), 1};
    for (std::uint32_t i = 0; i < times; ++i) {
      REQUIRE(here.send({&buffer, 1}).bytes == 1);
      const Board& board = *reinterpret_cast<const Board*>(here.link().data());
      packed += (board.published.packed & ((1u << kPackedBits) - 1)) != 0;
    }
    return packed;
  }
  void receive_small(std::size_t count) {
    dtutils::Deadline deadline(kPatience);
    while (count != 0) {
      require(!deadline.passed(), "bytes do not come");
      const iovec buffer{bytes.data(), count};
      count -= there.receive({&buffer, 1}).bytes;
    }
  }

  std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain{*device};
  Packetized here{domain, {kRing, kGrownRing}};
  Packetized there{domain, {kRing, kGrownRing}};
  std::vector<std::byte> bytes = std::vector<std::byte>(kRing);
};

}  // namespace

TEST_CASE("nothing_is_packed_before_the_peer_knows_of_its_larger_ring") {
  GrowingSides sides;
  constexpr std::uint32_t kSends = 3 * kSendsBeforePacking;
  CHECK(sides.send_small(kSends) == 0);
  CHECK(load(reinterpret_cast<Board*>(sides.there.link().data())->grown) != 0);
  sides.receive_small(kSends);
  // The sender knows it, too, when the peer has told of bytes in the larger ring.
  sides.there.arm();
  CHECK(sides.send_small(kSends) != 0);
}

TEST_CASE("small_sends_are_packed_in_a_grown_ring_as_in_a_small_one") {
  GrowingSides sides;
  // Space for all that is packed comes back long before a part of the larger ring is full.
  constexpr std::uint32_t kSends = 50;
  constexpr std::uint32_t kGroups = kGrownRing / kPartsOfRing / kSends / 2;
  std::uint32_t packed = 0;
  for (std::uint32_t i = 0; i < kGroups; ++i) {
    packed += sides.send_small(kSends) != 0;
    sides.receive_small(kSends);
  }
  CHECK(packed > kGroups / 2);
}
