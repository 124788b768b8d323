// SPDX-License-Identifier: MIT
// All bytes leave from staging memory, as on verbs, and the peer's ring is larger than that, from
// the beginning or once it has grown.
#include <algorithm>
#include <vector>

#include "dtutils/device.hpp"
#include "dtutils/wait.hpp"
#include "packetized.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace streams;
using namespace support;

namespace {

constexpr std::uint32_t kLarge = 16 * kSmallestRing;

/// A device whose completions come later than the call that they belong to.
std::unique_ptr<dtutils::Device> open_late_device() {
  dtutils::DeviceOptions options;
  options.adversary = dtutils::Adversary{.seed = test_seed()};
  return dtutils::open_device("shm", options);
}

/// Two sides in one process, of which `here` has the smaller ring, and staging memory.
struct StagedSides {
  explicit StagedSides(RingSizes here_has = kSmallestRing, RingSizes there_has = kLarge)
      : here(domain, here_has, 1, Packetized::Source::kStaged),
        there(domain, there_has, 1, Packetized::Source::kStaged) {
    here.meet(there.introduction());
    there.meet(here.introduction());
  }
  std::unique_ptr<dtutils::Device> device = open_late_device();
  dtutils::ProtectionDomain domain{*device};
  Packetized here;
  Packetized there;
};

std::byte staged_byte(std::uint64_t place) {
  return static_cast<std::byte>((place * 0x9e3779b97f4a7c15u) >> 56);
}

/// Bytes of one direction, and how many were sent and received.
struct Direction {
  std::size_t send(Packetized& from, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) bytes[i] = staged_byte(sent + i);
    const iovec buffer{bytes.data(), length};
    const Result result = from.send({&buffer, 1});
    require(result.status == Status::kOk || result.status == Status::kWouldBlock, "a call failed");
    sent += result.bytes;
    return result.bytes;
  }
  void receive(Packetized& into, std::size_t length) {
    const iovec buffer{bytes.data(), length};
    const Result result = into.receive({&buffer, 1});
    require(result.status == Status::kOk || result.status == Status::kWouldBlock, "a call failed");
    for (std::size_t i = 0; i < result.bytes; ++i) {
      require(bytes[i] == staged_byte(received + i), "other bytes came");
    }
    received += result.bytes;
  }
  std::vector<std::byte> bytes = std::vector<std::byte>(kLarge);
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// Sends and receives at both sides, and looks at all bytes.
void exchange(StagedSides& sides, Random& random, std::uint64_t total) {
  Direction out;
  Direction back;
  // Of all sizes, and more short ones than long ones, which are packed where that may be.
  const auto some = [&] {
    return 1 + random.below(random.one_in(3) ? std::size_t{2} * kSmallestRing : std::size_t{200});
  };
  dtutils::Deadline deadline(kPatience);
  while (out.received < total || back.received < total / 16) {
    require(!deadline.passed(), "bytes did not arrive");
    switch (random.below(6)) {
      case 0:
        back.send(sides.there, some());
        break;
      case 1:
        back.receive(sides.here, some());
        break;
      case 2:
      case 3:
        out.receive(sides.there, some());
        break;
      default:
        out.send(sides.here, some());
    }
    if (random.one_in(50)) (random.one_in(2) ? sides.here : sides.there).arm();
  }
}

}  // namespace

TEST_CASE("a_sender_with_a_smaller_ring_fills_the_ring_of_its_peer_and_then_waits") {
  StagedSides sides;
  Direction direction;
  const std::size_t piece = GENERATE(std::size_t{300}, std::size_t{kLarge});
  dtutils::Deadline deadline(kPatience);
  while (direction.sent != kLarge) {
    require(!deadline.passed(), "the ring did not fill");
    const std::size_t writable = sides.here.writable();
    require(direction.send(sides.here, piece) >= std::min(writable, piece),
            "writable said more than a send takes");
  }
  CHECK(sides.here.writable() == 0);
  CHECK_FALSE(sides.here.send_ready());
  while (direction.received != kLarge) {
    require(!deadline.passed(), "bytes did not arrive");
    direction.receive(sides.there, kLarge);
  }
  while (!sides.here.send_ready()) require(!deadline.passed(), "no space came back");
}

TEST_CASE("bytes_out_of_staging_memory_stay_in_order_whatever_the_sizes") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random(seed);
  StagedSides sides;
  exchange(sides, random, 6 * kLarge);
}

TEST_CASE("bytes_out_of_staging_memory_stay_in_order_when_the_ring_grows") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random(seed);
  constexpr RingSizes kGrows{kSmallestRing, kLarge};
  // A sender gets as much staging memory as its own ring may have, which may be none.
  const RingSizes sender = GENERATE_COPY(
      values<RingSizes>({kGrows, kSmallestRing, {kSmallestRing, 4 * kSmallestRing}, kLarge}));
  StagedSides sides(sender, kGrows);
  exchange(sides, random, 20 * kLarge);
  CHECK(reinterpret_cast<Board*>(sides.there.link().data())->grown != 0);
}

TEST_CASE("a_sender_with_little_staging_memory_goes_on_when_a_large_ring_grows") {
  // What the receiver gives back at a time is more than the staging memory has.
  constexpr RingSizes kGrows{8 * kSmallestRing, kLarge};
  StagedSides sides(kSmallestRing, kGrows);
  Direction direction;
  const Board& board = *reinterpret_cast<const Board*>(sides.there.link().data());
  dtutils::Deadline deadline(kPatience);
  std::uint64_t end = UINT64_MAX;
  while (direction.received < end) {
    require(!deadline.passed(), board.grown != 0 ? "bytes did not arrive" : "no ring has grown");
    direction.send(sides.here, kSmallestRing);
    // The first ring is full before bytes are taken.
    const bool full = sides.there.readable() == kGrows.initial;
    if (full || board.grown != 0) direction.receive(sides.there, kLarge);
    if (end == UINT64_MAX && board.grown != 0) end = direction.received + 4 * kLarge;
  }
}

TEST_CASE("staging_memory_is_not_used_again_before_the_peer_knows_of_its_larger_ring") {
  // The sender gets no other staging memory, and the peer may still read packed bytes there.
  StagedSides sides(kSmallestRing, {kSmallestRing, kLarge});
  Direction direction;
  const Board& board = *reinterpret_cast<const Board*>(sides.there.link().data());
  dtutils::Deadline deadline(kPatience);
  const auto send_and_wait = [&] {
    direction.send(sides.here, kSmallestRing);
    while (!sides.here.delivered()) require(!deadline.passed(), "the device does nothing");
  };
  for (;;) {
    send_and_wait();
    if (board.grown != 0) break;
    require(!deadline.passed(), "no ring has grown");
    if (sides.there.readable() == kSmallestRing) direction.receive(sides.there, kSmallestRing);
  }
  for (int i = 0; i < 10; ++i) send_and_wait();
  CHECK(direction.sent - direction.received <= kSmallestRing);
}
