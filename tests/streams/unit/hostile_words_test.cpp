// SPDX-License-Identifier: MIT
// A peer that writes anything at all into the words of a stream: the stream breaks, and nothing
// else.
#include <vector>

#include "board.hpp"
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

/// Two sides in one process; the test is a part of the peer of `here`.
struct Sides {
  explicit Sides(Packetized::Source from = Packetized::Source::kAsTheDeviceLets) : source(from) {
    here.meet(there.introduction());
    there.meet(here.introduction());
  }
  Board& board() { return *reinterpret_cast<Board*>(here.link().data()); }

  Packetized::Source source;
  std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain{*device};
  Packetized here{domain, {kRing, kGrownRing}, 1, source};
  Packetized there{domain, {kRing, kGrownRing}, 1, source};
};

std::uint64_t any_word(Random& random) {
  const std::uint64_t noise = static_cast<std::uint64_t>(random.below(SIZE_MAX));
  const auto kind = static_cast<WordKind>(1 + random.below(9));
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

/// What a receive answers after the peer has told of so many bytes.
Status status_after_immediate(std::uint32_t bytes) {
  Sides sides(Packetized::Source::kStaged);
  Link& peer = sides.there.link();
  REQUIRE(peer.pair().post_write_with_immediate({}, peer.there(kStagingAt, 0),
                                                sent_immediate(bytes, 0), 0,
                                                dtutils::kSignaled) == dtutils::PostResult::kOk);
  ibv_wc completion;
  REQUIRE(peer.pair().wait(completion, kPatience) == dtutils::QueuePair::Wait::kCompleted);
  std::byte byte;
  const iovec buffer{&byte, 1};
  return sides.here.receive({&buffer, 1}).status;
}

void use(Packetized& side, Random& random) {
  std::byte bytes[3000]{};
  const iovec buffer{bytes, random.below(sizeof bytes)};
  const std::span<const iovec> buffers(&buffer, 1);
  for (int i = 0; i < 4; ++i) {
    const Result sent = side.send(buffers);
    CHECK(sent.bytes <= buffer.iov_len);
    CHECK(side.readable() <= kGrownRing);
    CHECK(side.peek(buffers).bytes <= buffer.iov_len);
    CHECK(side.receive(buffers).bytes <= buffer.iov_len);
    CHECK(side.writable() <= kGrownRing);
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
  // With immediate data and without.
  const auto source = GENERATE(Packetized::Source::kAsTheDeviceLets, Packetized::Source::kStaged);
  for (int i = 0; i < 150; ++i) {
    Sides sides(source);
    use(sides.there, random);
    for (int k = 0; k < 20; ++k) {
      Board& board = sides.board();
      std::uint64_t* const words[] = {
          &board.sent,           &board.feedback.taken, &board.feedback.seen, &board.feedback.armed,
          &board.feedback.heard, &board.grown,          &board.larger.page,   &board.larger.key};
      std::atomic_ref(*words[random.below(std::size(words))]).store(any_word(random));
      if (source == Packetized::Source::kStaged && random.one_in(2)) {
        const auto told = static_cast<std::uint32_t>(any_word(random));
        Link& peer = sides.there.link();
        static_cast<void>(peer.pair().post_write_with_immediate({}, peer.there(kStagingAt, 0), told,
                                                                0, dtutils::kUnsignaled));
      }
      // What this side reads of the other one.
      Published& published = reinterpret_cast<Board*>(sides.there.link().data())->published;
      std::atomic_ref(random.one_in(2) ? published.packed : published.state)
          .store(any_word(random));
      use(sides.here, random);
    }
    sides.here.finish_sending(false);
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

TEST_CASE("a_peer_that_has_taken_or_seen_what_was_not_sent_breaks_the_stream") {
  const bool taken = GENERATE(false, true);
  Sides sides;
  std::byte byte{};
  const iovec buffer{&byte, 1};
  REQUIRE(sides.here.send({&buffer, 1}).bytes == 1);
  Feedback& feedback = sides.board().feedback;
  const auto tell = [&](std::uint64_t count) {
    std::atomic_ref(taken ? feedback.taken : feedback.seen)
        .store(count_word(taken ? kTakenWord : kSeenWord, count));
    static_cast<void>(sides.here.writable());
    return sides.here.link().broken();
  };
  CHECK_FALSE(tell(1));
  CHECK(tell(GENERATE(std::uint64_t{0}, std::uint64_t{2})));
}

TEST_CASE("immediate_data_that_tells_of_more_bytes_than_the_ring_has_breaks_the_stream") {
  CHECK(status_after_immediate(kRing) == Status::kOk);
  CHECK(status_after_immediate(kRing + 1) == Status::kReset);
  // Behind what was told before; nothing comes of it.
  CHECK(status_after_immediate(1u << (kImmediateBits - 1)) == Status::kWouldBlock);
}

TEST_CASE("credits_that_nobody_took_break_the_stream") {
  Sides sides(Packetized::Source::kStaged);
  std::byte byte{};
  const iovec buffer{&byte, 1};
  for (std::uint32_t i = 1; i < kReceivesForWrites; ++i) {
    // An answer each time, so that nothing is packed.
    REQUIRE(sides.here.send({&buffer, 1}).bytes == 1);
    static_cast<void>(sides.there.readable());
    REQUIRE(sides.there.send({&buffer, 1}).bytes == 1);
    dtutils::Deadline deadline(kPatience);
    while (sides.here.receive({&buffer, 1}).bytes == 0) {
      require(!deadline.passed(), "no answer came");
    }
  }
  std::atomic_ref(sides.board().feedback.heard)
      .store(count_word(kHeardWord, kReceivesForWrites + 1));
  static_cast<void>(sides.here.send({&buffer, 1}));
  CHECK(sides.here.link().broken());
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

TEST_CASE("a_larger_ring_that_begins_in_an_impossible_place_breaks_the_stream") {
  Sides sides;
  std::vector<std::byte> bytes(kRing);
  const iovec buffer{bytes.data(), bytes.size()};
  std::uint64_t sent = 0;
  for (std::uint32_t i = 0; i < kFullBeforeOffer; ++i, sent += kRing) {
    REQUIRE(sides.there.send({&buffer, 1}).bytes == kRing);
    REQUIRE(sides.here.receive({&buffer, 1}).bytes == kRing);
  }
  const auto tell = [&](std::uint64_t grown) {
    std::atomic_ref(sides.board().grown).store(grown);
    std::atomic_ref(sides.board().sent).store(count_word(kSentWord, sent + 1));
    return sides.here.readable();
  };
  SECTION("where it may") { CHECK(tell(count_word(kGrownWord, sent)) == 1); }
  SECTION("behind more bytes than there may be") {
    CHECK(tell(count_word(kGrownWord, sent + kRing + 1)) == 0);
    CHECK(sides.here.link().broken());
  }
  SECTION("before bytes that have arrived") {
    CHECK(tell(count_word(kGrownWord, sent - 1)) == 0);
    CHECK(sides.here.link().broken());
  }
  SECTION("nowhere") {
    CHECK(tell(count_word(kSentWord, sent)) == 0);
    CHECK(sides.here.link().broken());
  }
}

TEST_CASE("nobody_begins_a_larger_ring_that_does_not_exist") {
  Sides sides(Packetized::Source::kStaged);
  std::byte byte{};
  const iovec buffer{&byte, 1};
  std::atomic_ref(sides.board().feedback.taken).store(count_word(kTakenWord, 0, kLargerRing));
  CHECK(sides.here.send({&buffer, 1}).bytes == 1);
  CHECK(sides.here.writable() <= kRing);
  CHECK_FALSE(sides.here.link().broken());
}

TEST_CASE("a_larger_ring_in_memory_that_does_not_exist_breaks_the_stream") {
  Sides sides(Packetized::Source::kStaged);
  std::vector<std::byte> bytes(kRing);
  const iovec buffer{bytes.data(), bytes.size()};
  sides.board().larger = {dtutils::hashed_word(17, kLargerAtWord),
                          dtutils::hashed_word(42, kLargerKeyWord)};
  std::atomic_ref(sides.board().feedback.taken).store(count_word(kTakenWord, 0, kLargerRing));
  dtutils::Deadline deadline(kPatience);
  while (sides.here.send({&buffer, 1}).status != Status::kBrokenPipe) {
    require(!deadline.passed(), "the stream goes on");
  }
  CHECK(sides.here.link().broken());
}

TEST_CASE("more_packed_bytes_than_the_ring_has_room_for_break_the_stream") {
  Sides sides;
  Published& published = reinterpret_cast<Board*>(sides.there.link().data())->published;
  const std::uint32_t packed = GENERATE(std::uint32_t{kStaging}, kRing);
  std::atomic_ref(published.packed).store(packed_word(1, packed));
  std::atomic_ref(sides.board().sent).store(count_word(kSentWord, 1, kPacking));
  dtutils::Deadline deadline(kPatience);
  while (sides.here.readable() <= 1 && !sides.here.link().broken()) {
    require(!deadline.passed(), "nobody fetched them");
  }
  CHECK(sides.here.link().broken() == (packed == kRing));
}

TEST_CASE("a_question_that_is_not_whole_is_answered_when_it_is") {
  Sides sides;
  std::atomic_ref<std::uint64_t> armed(sides.board().feedback.armed);
  const std::uint64_t question = dtutils::hashed_word(3 << 1, kArmedWord);
  armed.store(question ^ 2);
  std::byte byte{};
  const iovec buffer{&byte, 1};
  REQUIRE(sides.here.send({&buffer, 1}).bytes == 1);
  int bells = 0;
  const auto look = [&] {
    for (int i = 0; i < 20; ++i) {
      static_cast<void>(sides.here.send_ready());
      sides.there.link().poll_receives([&](const ibv_wc&) { ++bells; });
    }
  };
  look();
  CHECK(bells == 0);
  CHECK_FALSE(sides.here.link().broken());
  armed.store(question);
  look();
  CHECK(bells == 1);
}
