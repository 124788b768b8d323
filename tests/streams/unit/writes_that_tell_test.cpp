// SPDX-License-Identifier: MIT
// Bytes whose count comes as the immediate data of their write, as on verbs.
#include <poll.h>

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

/// Two sides in one process. The ring of `there` is the larger one, so that `here` packs nothing,
/// and each of its sends tells, unless another ring is asked for.
struct TellingSides {
  explicit TellingSides(const dtutils::DeviceOptions& options = {},
                        std::uint32_t ring_there = 2 * kSmallestRing)
      : device(dtutils::open_device("shm", options)),
        there(domain, ring_there, 1, Packetized::Source::kStaged) {
    here.meet(there.introduction());
    there.meet(here.introduction());
  }
  Board& board_there() { return *reinterpret_cast<Board*>(there.link().data()); }
  Board& board_here() { return *reinterpret_cast<Board*>(here.link().data()); }

  std::unique_ptr<dtutils::Device> device;
  dtutils::ProtectionDomain domain{*device};
  Packetized here{domain, kSmallestRing, 1, Packetized::Source::kStaged};
  Packetized there;
};

bool send_byte(Packetized& side, std::uint64_t place) {
  std::byte byte{static_cast<unsigned char>(place)};
  const iovec buffer{&byte, 1};
  return side.send({&buffer, 1}).bytes == 1;
}

/// As many as are there, which are the next ones. How many; or the status, below zero.
int receive_bytes(Packetized& side, std::uint64_t& place) {
  std::array<std::byte, 500> bytes;
  const iovec buffer{bytes.data(), bytes.size()};
  const Result result = side.receive({&buffer, 1});
  for (std::size_t i = 0; i < result.bytes; ++i) {
    require(bytes[i] == std::byte{static_cast<unsigned char>(place++)}, "another byte came");
  }
  if (result.status == Status::kWouldBlock) return 0;
  return result.status == Status::kOk ? static_cast<int>(result.bytes)
                                      : -static_cast<int>(result.status);
}

bool readable(int descriptor, int milliseconds) {
  pollfd entry{descriptor, POLLIN, 0};
  return poll(&entry, 1, milliseconds) == 1;
}

/// One side sends in bursts, and the other one takes what it is woken for, and sleeps again.
void send_bursts_to_a_sleeper(TellingSides& sides, Random random) {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (int round = 0; round < 40; ++round) {
    dtutils::Deadline deadline(kPatience);
    // More or fewer than there are credits, and exactly as many.
    const std::uint64_t burst =
        random.one_in(3) ? kReceivesForWrites - 1 + random.below(3) : random.below(150);
    for (const std::uint64_t end = sent + burst; sent != end;) {
      require(!deadline.passed(), "a send waits");
      if (send_byte(sides.here, sent)) ++sent;
    }
    while (received != sent) {
      sides.there.arm();
      const bool woken =
          sides.there.receive_ready() || readable(sides.there.link().descriptor(), 10'000);
      require(woken, "nobody woke the sleeper");
      require(receive_bytes(sides.there, received) >= 0, "the stream broke");
      require(!deadline.passed(), "bytes do not come");
    }
  }
  CHECK(received == sent);
}

}  // namespace

TEST_CASE("sends_to_a_side_that_makes_no_call_never_wait_for_a_receive") {
  TellingSides sides;
  constexpr std::uint64_t kSends = 5 * kReceivesForWrites;
  dtutils::Deadline deadline(kPatience);
  for (std::uint64_t i = 0; i < kSends;) {
    require(!deadline.passed(), "a send waits");
    if (send_byte(sides.here, i)) ++i;
  }
  while (!sides.here.say_closed()) require(!deadline.passed(), "the close waits");
  while (!sides.here.delivered()) require(!deadline.passed(), "something waits for a receive");
  CHECK_FALSE(sides.here.link().broken());
  // Those that found a receive came by immediate data, and the rest by a word.
  CHECK(dtutils::is_hashed_word(load(sides.board_there().sent), kSentWord));
  std::uint64_t place = 0;
  int last = 0;
  while ((last = receive_bytes(sides.there, place)) >= 0) {
    require(!deadline.passed(), "the end does not come");
  }
  CHECK(place == kSends);
  CHECK(last == -static_cast<int>(Status::kEnd));
  CHECK(sides.there.peer_closed());
}

TEST_CASE("credits_for_receives_come_back_so_that_no_word_is_needed") {
  TellingSides sides;
  dtutils::Deadline deadline(kPatience);
  std::uint64_t received = 0;
  for (std::uint64_t i = 0; i < 20 * kReceivesForWrites; ++i) {
    while (!send_byte(sides.here, i)) require(!deadline.passed(), "a send waits");
    while (received != i + 1) {
      require(!deadline.passed(), "a byte does not come");
      receive_bytes(sides.there, received);
    }
  }
  CHECK(load(sides.board_there().sent) == 0);
}

TEST_CASE("the_last_write_that_can_tell_says_that_more_may_come_untold") {
  TellingSides sides;
  dtutils::Deadline deadline(kPatience);
  for (std::uint64_t i = 0; i < kReceivesForWrites;) {
    require(!deadline.passed(), "a send waits");
    if (send_byte(sides.here, i)) ++i;
  }
  std::vector<std::uint32_t> flags;
  while (flags.size() < kReceivesForWrites) {
    require(!deadline.passed(), "a write did not tell");
    sides.there.link().poll_receives([&](const ibv_wc& completion) {
      flags.push_back(dtutils::immediate_of(completion) >> kImmediateBits);
    });
  }
  CHECK(flags.back() == kPacking);
  flags.pop_back();
  CHECK(std::all_of(flags.begin(), flags.end(), [](std::uint32_t each) { return each == 0; }));
}

TEST_CASE("who_was_told_by_immediate_data_sleeps_without_a_question_and_is_woken") {
  TellingSides sides;
  std::uint64_t received = 0;
  for (std::uint64_t i = 0; i < 3 * kReceivesForWrites; ++i) {
    // Until it may sleep: what came before is no event.
    for (dtutils::Deadline deadline(kPatience);;) {
      sides.there.arm();
      require(!sides.there.receive_ready(), "a byte that was not sent");
      if (!readable(sides.there.link().descriptor(), 0)) break;
      require(!deadline.passed(), "it is always woken");
    }
    require(send_byte(sides.here, i), "a send waits");
    require(readable(sides.there.link().descriptor(), 10'000), "nobody woke the sleeper");
    for (dtutils::Deadline deadline(kPatience); receive_bytes(sides.there, received) == 0;) {
      require(!deadline.passed(), "a byte does not come");
    }
  }
  CHECK(received == 3 * kReceivesForWrites);
  CHECK(load(sides.board_here().feedback.armed) == 0);
}

TEST_CASE("who_was_told_by_words_is_woken_by_each_send") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  dtutils::DeviceOptions options;
  options.adversary = dtutils::Adversary{.seed = seed};
  TellingSides sides(options);
  send_bursts_to_a_sleeper(sides, Random(seed));
}

TEST_CASE("who_may_have_packed_bytes_left_is_woken_by_each_send") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  dtutils::DeviceOptions options;
  options.adversary = dtutils::Adversary{.seed = seed};
  // Rings of one size, so that small sends are packed.
  TellingSides sides(options, kSmallestRing);
  send_bursts_to_a_sleeper(sides, Random(seed));
}
