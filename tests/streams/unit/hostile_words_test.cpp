// SPDX-License-Identifier: MIT
// A peer that writes anything at all into the words of a stream: the stream breaks, and nothing
// else.
#include "board.hpp"
#include "dtutils/device.hpp"
#include "packetized.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace streams;
using namespace support;

namespace {

/// Two sides in one process; the test is a part of the peer of `here`.
struct Sides {
  Sides() {
    here.meet(there.introduction());
    there.meet(here.introduction());
  }
  Board& board() { return *reinterpret_cast<Board*>(here.link().data()); }

  std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain{*device};
  Packetized here{domain, kRing};
  Packetized there{domain, kRing};
};

std::uint64_t any_word(Random& random) {
  const std::uint64_t noise = static_cast<std::uint64_t>(random.below(SIZE_MAX));
  const auto kind = static_cast<WordKind>(1 + random.below(5));
  // Noise, a word that fits with any content, or one that is nearly right.
  switch (random.below(3)) {
    case 0:
      return noise;
    case 1:
      return dtutils::hashed_word(noise & dtutils::kHashedMask, kind);
    default:
      return count_word(kind, random.below(2 * kRing), static_cast<std::uint32_t>(noise % 16));
  }
}

void use(Packetized& side, Random& random) {
  std::byte bytes[3000]{};
  const iovec buffer{bytes, random.below(sizeof bytes)};
  const std::span<const iovec> buffers(&buffer, 1);
  for (int i = 0; i < 4; ++i) {
    const Result sent = side.send(buffers);
    CHECK(sent.bytes <= buffer.iov_len);
    CHECK(side.readable() <= kRing);
    CHECK(side.peek(buffers).bytes <= buffer.iov_len);
    CHECK(side.receive(buffers).bytes <= buffer.iov_len);
    CHECK(side.writable() <= kRing);
    static_cast<void>(side.receive_ready());
    static_cast<void>(side.send_ready());
  }
  side.arm();
}

}  // namespace

TEST_CASE("words_of_a_hostile_peer_break_only_the_stream") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random(seed);
  for (int i = 0; i < 150; ++i) {
    Sides sides;
    use(sides.there, random);
    for (int k = 0; k < 20; ++k) {
      Board& board = sides.board();
      std::uint64_t* const words[] = {&board.sent, &board.feedback.taken, &board.feedback.seen,
                                      &board.feedback.armed};
      std::atomic_ref(*words[random.below(4)]).store(any_word(random));
      // What this side reads of the other one.
      Published& published = reinterpret_cast<Board*>(sides.there.link().data())->published;
      std::atomic_ref(random.one_in(2) ? published.packed : published.state)
          .store(any_word(random));
      use(sides.here, random);
    }
    sides.here.finish_sending();
    static_cast<void>(sides.here.say_closed());
  }
}

TEST_CASE("more_bytes_than_the_ring_has_break_the_stream") {
  Sides sides;
  std::atomic_ref(sides.board().sent).store(count_word(kSentWord, kRing + 1));
  CHECK(sides.here.receive_ready());
  std::byte byte;
  const iovec buffer{&byte, 1};
  CHECK(sides.here.receive({&buffer, 1}).status == Status::kReset);
  CHECK(sides.here.send({&buffer, 1}).status == Status::kBrokenPipe);
}

TEST_CASE("a_word_that_is_not_whole_is_not_there_yet") {
  Sides sides;
  const std::uint64_t word = count_word(kSentWord, 5);
  std::atomic_ref(sides.board().sent).store(word ^ 3);
  CHECK(sides.here.readable() == 0);
  CHECK_FALSE(sides.here.link().broken());
  std::atomic_ref(sides.board().sent).store(word);
  CHECK(sides.here.readable() == 5);
}
