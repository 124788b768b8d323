// SPDX-License-Identifier: MIT
// A peer that offers memory as no sender does, or changes the word about an offer as no receiver
// does: the stream breaks, and nothing else.
#include <atomic>
#include <vector>

#include "dtutils/device.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"
#include "support/random.hpp"
#include "support/require.hpp"
#include "support/threads.hpp"
#include "zero_copy.hpp"

using namespace streams;
using namespace support;

namespace {

constexpr std::size_t kBytes = 2 * kZeroCopyFrom;

OfferWord word_of(std::uint32_t number, OfferState state, std::uint64_t taken) {
  return {number, state, taken};
}

/// A zero-copy stream, and a peer that writes what it likes into the frames and words.
struct HostilePeer {
  explicit HostilePeer(std::size_t size = kBytes) : memory(size) {
    here.meet(peer.introduction());
    peer.meet(here.introduction());
    set_word(word_of(1, OfferState::kOffered, 0));
  }

  void send(const void* bytes, std::size_t size) {
    const iovec buffer{const_cast<void*>(bytes), size};
    REQUIRE(peer.send({&buffer, 1}).bytes == size);
  }
  void send(const Offer& offer) { send(&offer, sizeof offer); }
  /// An offer of `memory` as a sender makes it.
  Offer offer() const {
    return {frame_head(FrameKind::kOffer, memory.size()),
            reinterpret_cast<std::uint64_t>(memory.data()),
            region.rkey(),
            1,
            0,
            0,
            0};
  }
  void set_word(OfferWord word) { std::atomic_ref(word_of_peer()).store(word.raw()); }
  std::uint64_t& word_of_peer() {
    return reinterpret_cast<OfferBoard*>(peer.link().data() + kOffersAt)->word;
  }
  /// The word of this side, which the peer can change.
  std::atomic_ref<std::uint64_t> word_here() {
    return std::atomic_ref(reinterpret_cast<OfferBoard*>(here.link().data() + kOffersAt)->word);
  }

  Status receive(std::size_t wanted) {
    std::vector<std::byte> into(wanted);
    const iovec buffer{into.data(), wanted};
    dtutils::Deadline deadline(kPatience);
    for (;;) {
      const Result result = here.receive({&buffer, 1});
      if (result.status != Status::kWouldBlock) return result.status;
      require(!deadline.passed(), "nothing came of it");
    }
  }

  std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain{*device};
  std::vector<std::byte> memory;
  dtutils::MemoryRegion region{domain, memory.data(), memory.size(), IBV_ACCESS_REMOTE_READ};
  ZeroCopy here{domain, {.flow = FlowControl::kZeroCopy}};
  Packetized peer{domain, kRing};
};

}  // namespace

TEST_CASE("an_offer_as_a_sender_makes_it_is_read") {
  HostilePeer peer;
  peer.send(peer.offer());
  CHECK(peer.receive(10) == Status::kOk);
  CHECK(peer.receive(kReadAhead - 10) == Status::kOk);
  CHECK(peer.receive(kBytes - kReadAhead) == Status::kOk);
  CHECK(OfferWord::from(std::atomic_ref(peer.word_of_peer()).load()).taken == kBytes);
}

TEST_CASE("a_frame_that_cannot_be_is_refused") {
  HostilePeer peer;
  const std::uint64_t head =
      GENERATE(std::uint64_t{0}, std::uint64_t{7}, frame_head(FrameKind::kData, 0),
               frame_head(FrameKind::kOffer, 0), frame_head(static_cast<FrameKind>(3), 5),
               frame_head(FrameKind::kOffer, kLargestOffer + 1),
               frame_head(FrameKind::kOffer, kFrameLengthMask), ~std::uint64_t{0});
  peer.send(&head, sizeof head);
  CHECK(peer.receive(100) == Status::kReset);
  CHECK(peer.receive(100) == Status::kReset);
  CHECK(peer.here.receive_ready());
  CHECK(peer.here.readable() == 0);
}

TEST_CASE("an_offer_of_memory_that_is_not_the_peers_is_refused") {
  HostilePeer peer;
  Offer offer = peer.offer();
  switch (GENERATE(0, 1, 2, 3, 4)) {
    case 0:
      offer.address += 1;
      break;
    case 1:
      offer.address = ~std::uint64_t{0} - 100;
      break;
    case 2:
      offer.rkey ^= 0x10000;
      break;
    case 3:
      offer.head = frame_head(FrameKind::kOffer, kBytes + 1);
      break;
    default:
      offer.number = 0;
  }
  peer.send(offer);
  Status status = Status::kOk;
  for (std::size_t i = 0; i < 3 && status == Status::kOk; ++i) status = peer.receive(kBytes + 1);
  CHECK(status == Status::kReset);
}

TEST_CASE("an_offer_whose_word_cannot_be_is_refused") {
  HostilePeer peer;
  const std::size_t wanted = GENERATE(std::size_t{10}, kBytes);
  peer.set_word(GENERATE(word_of(1, OfferState::kOffered, 1), word_of(1, OfferState::kReading, 0),
                         word_of(1, OfferState::kWithdrawn, 3), word_of(1, OfferState::kMoved, 1),
                         word_of(1, OfferState::kLost, 0),
                         word_of(1, static_cast<OfferState>(7), 0),
                         word_of(1, static_cast<OfferState>(0), 0)));
  peer.send(peer.offer());
  CHECK(peer.receive(wanted) == Status::kReset);
}

TEST_CASE("an_offer_whose_word_changes_in_the_middle_is_refused") {
  HostilePeer peer;
  peer.send(peer.offer());
  CHECK(peer.receive(10) == Status::kOk);
  CHECK(peer.receive(kReadAhead - 10) == Status::kOk);
  peer.set_word(word_of(1, OfferState::kOffered, kReadAhead + 1));
  CHECK(peer.receive(10) == Status::kReset);
}

TEST_CASE("an_offer_that_was_moved_nowhere_is_refused") {
  HostilePeer peer;
  Offer offer = peer.offer();
  if (GENERATE(false, true)) offer.spare_rkey = offer.rkey;
  peer.set_word(word_of(1, OfferState::kMoved, 0));
  peer.send(offer);
  CHECK(peer.receive(GENERATE(std::size_t{10}, kBytes)) == Status::kReset);
}

TEST_CASE("an_offer_that_was_taken_back_is_passed_over") {
  HostilePeer peer;
  peer.set_word(GENERATE(word_of(1, OfferState::kWithdrawn, 0), word_of(2, OfferState::kOffered, 0),
                         word_of(0, static_cast<OfferState>(0), 0)));
  peer.send(peer.offer());
  const std::uint64_t head = frame_head(FrameKind::kData, 1);
  peer.send(&head, sizeof head);
  peer.send("x", 1);
  CHECK(peer.receive(kBytes) == Status::kOk);
}

TEST_CASE("an_end_in_the_middle_of_a_head_is_a_reset") {
  HostilePeer peer;
  const Offer offer = peer.offer();
  const std::size_t size =
      GENERATE(std::size_t{0}, std::size_t{3}, std::size_t{8}, sizeof offer - 1);
  if (size != 0) peer.send(&offer, size);
  peer.peer.finish_sending(false);
  CHECK(peer.receive(100) == (size == 0 ? Status::kEnd : Status::kReset));
}

TEST_CASE("bytes_that_were_taken_back_while_they_were_read_do_not_count") {
  dtutils::Deadline deadline(kPatience);
  for (bool taken_back = false; !taken_back;) {
    require(!deadline.passed(), "no offer was ever taken back while it was read");
    HostilePeer peer(kReadAtOnce);
    peer.send(peer.offer());
    const std::uint64_t head = frame_head(FrameKind::kData, 1);
    peer.send(&head, sizeof head);
    peer.send("x", 1);
    std::atomic<bool> over{false};
    Threads threads;
    threads.start([&] {
      const std::uint64_t withdrawn = word_of(1, OfferState::kWithdrawn, 0).raw();
      while (!over && !taken_back) {
        std::uint64_t reading = word_of(1, OfferState::kReading, 0).raw();
        taken_back =
            std::atomic_ref(peer.word_of_peer()).compare_exchange_strong(reading, withdrawn);
      }
    });
    std::vector<std::byte> into(kReadAtOnce);
    const iovec buffer{into.data(), into.size()};
    Result result = peer.here.receive({&buffer, 1});
    over = true;
    threads.join();
    if (!taken_back) continue;
    while (result.status == Status::kWouldBlock) result = peer.here.receive({&buffer, 1});
    CHECK(result.bytes == 1);
    CHECK(into[0] == static_cast<std::byte>('x'));
  }
}

TEST_CASE("a_receiver_that_changes_the_word_at_will_breaks_the_send") {
  HostilePeer peer;

  REQUIRE(peer.here.offer(peer.memory) == ZeroCopy::Offering::kMade);
  const std::uint32_t number = OfferWord::from(peer.word_here().load()).number;
  peer.word_here().store(GENERATE_COPY(word_of(number, OfferState::kOffered, kBytes + 1),
                                       word_of(number + 1, OfferState::kOffered, 0),
                                       word_of(number, OfferState::kWithdrawn, 0),
                                       word_of(number, OfferState::kMoved, 0),
                                       word_of(number, static_cast<OfferState>(6), 0))
                             .raw());
  CHECK(peer.here.settled());
  const Result result = peer.here.conclude();
  CHECK(result.status == Status::kBrokenPipe);
  CHECK(result.bytes == 0);
}

TEST_CASE("a_receiver_that_takes_back_what_it_has_read_breaks_the_send") {
  HostilePeer peer;
  REQUIRE(peer.here.offer(peer.memory) == ZeroCopy::Offering::kMade);
  const std::uint32_t number = OfferWord::from(peer.word_here().load()).number;
  peer.word_here().store(word_of(number, OfferState::kOffered, 100).raw());
  CHECK_FALSE(peer.here.settled());
  peer.word_here().store(word_of(number, OfferState::kOffered, 99).raw());
  CHECK(peer.here.settled());
  const Result result = peer.here.conclude();
  CHECK(result.status == Status::kBrokenPipe);
  CHECK(result.bytes == 100);
}

TEST_CASE("a_receiver_that_says_for_ever_that_it_reads_holds_the_sender_for_a_moment") {
  HostilePeer peer;
  REQUIRE(peer.here.offer(peer.memory) == ZeroCopy::Offering::kMade);
  const std::uint32_t number = OfferWord::from(peer.word_here().load()).number;
  peer.word_here().store(word_of(number, OfferState::kReading, 50).raw());
  CHECK_FALSE(peer.here.settled());
  const auto begin = std::chrono::steady_clock::now();
  const Result result = peer.here.conclude();
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(result.status == Status::kTimeout);
  CHECK(result.bytes == 50);
  CHECK(took >= kPatienceWithReader / 2);
  CHECK(took < kPatience);
}

TEST_CASE("random_offers_and_words_break_only_the_stream") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random(seed);
  for (int i = 0; i < 100; ++i) {
    HostilePeer peer;
    for (int k = 0; k < 10 && !peer.here.link().broken(); ++k) {
      Offer offer = peer.offer();
      offer.number = static_cast<std::uint32_t>(random.below(3));
      if (random.one_in(4)) offer.head = frame_head(FrameKind::kOffer, random.below(2 * kBytes));
      if (random.one_in(4)) offer.address += random.below(kBytes);
      peer.set_word(word_of(static_cast<std::uint32_t>(random.below(3)),
                            static_cast<OfferState>(random.below(4)), random.below(3)));
      const iovec buffer{&offer, sizeof offer};
      static_cast<void>(peer.peer.send({&buffer, 1}));
      std::vector<std::byte> into(random.size_up_to(2 * kBytes));
      const iovec target{into.data(), into.size()};
      CHECK(peer.here.peek({&target, 1}).bytes <= into.size());
      CHECK(peer.here.receive({&target, 1}).bytes <= into.size());
      static_cast<void>(peer.here.readable());
      static_cast<void>(peer.here.receive_ready());
    }
  }
}
