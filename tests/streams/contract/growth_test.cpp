// SPDX-License-Identifier: MIT
// Rings that grow while a stream is used: the receiver of much gets a larger one.
#include "../support/asynchronous.hpp"
#include "../support/pair.hpp"
#include "support/catch.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;

namespace {

/// Never offered as a whole with kZeroCopy, and more than a first ring.
constexpr std::size_t kPiece = 20'000;
static_assert(kPiece > kRing && kPiece < kZeroCopyFrom);
/// Pieces for which a ring grows in any case.
constexpr std::size_t kMany = 100;

constexpr StreamOptions kNeverGrows{.largest_ring = kRing};
constexpr StreamOptions kSmallFirst{.ring = kSmallestRing, .largest_ring = 1u << 16};

/// Sends pieces from that place of the stream on, which the other side receives.
void carry(Stream& from, Stream& to, std::uint64_t place, std::size_t pieces) {
  Threads threads;
  threads.start([&] { receive_bytes(to, place, pieces * kPiece); });
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::vector<std::byte> piece = bytes_from(place + i * kPiece, kPiece);
    require(from.send(piece, kPatience).bytes == kPiece, "a send failed");
  }
  threads.join();
}

/// Bytes that fit into the ring of a side that has received everything.
std::size_t empty_ring(Stream& from, Stream& to, std::uint64_t place) {
  // The last bytes are given back when the other side sleeps.
  to.arm();
  REQUIRE_FALSE(to.receive_ready());
  std::size_t sent = 0;
  // A device that is slow to complete takes less at a time.
  for (Status status = Status::kOk; status == Status::kOk;) {
    const Result result = from.send(bytes_from(place + sent, 500), std::chrono::milliseconds(200));
    status = result.status;
    sent += result.bytes;
  }
  receive_bytes(to, place, sent);
  return sent;
}

}  // namespace

TEST_CASE("a_stream_that_begins_with_short_sends_gets_a_larger_ring_for_long_ones") {
  const StreamOptions options = GENERATE(kPacketizedStream, kZeroCopyStream, kSmallFirst);
  Domain domain;
  StreamPair pair(domain.pd, options);
  std::uint64_t place = 0;
  for (; place < 100 * 64; place += 64) {
    for (const bool there : {false, true}) {
      Stream& from = there ? *pair.there : *pair.here;
      Stream& to = there ? *pair.here : *pair.there;
      REQUIRE(from.send(bytes_from(place, 64), kPatience).bytes == 64);
      receive_bytes(to, place, 64);
    }
  }
  CHECK(pair.here->writable() <= options.ring);
  carry(*pair.here, *pair.there, place, kMany);
  const std::size_t space = empty_ring(*pair.here, *pair.there, place + kMany * kPiece);
  CHECK(space > options.ring);
  // What it receives is little.
  CHECK(empty_ring(*pair.there, *pair.here, place) <= options.ring);
}

TEST_CASE("a_ring_that_may_not_grow_or_was_never_full_stays_small") {
  const bool may_grow = GENERATE(false, true);
  Domain domain;
  StreamPair pair(domain.pd, may_grow ? kPacketizedStream : kNeverGrows);
  std::uint64_t place = 0;
  if (may_grow) {
    for (; place < kMany * kPiece; place += kRing / 2) {
      REQUIRE(pair.here->send(bytes_from(place, kRing / 2), kPatience).bytes == kRing / 2);
      receive_bytes(*pair.there, place, kRing / 2);
    }
  } else {
    carry(*pair.here, *pair.there, 0, kMany);
    place = kMany * kPiece;
  }
  CHECK(empty_ring(*pair.here, *pair.there, place) <= kRing);
}

TEST_CASE("a_stream_for_whose_ring_there_is_no_memory_goes_on_with_the_old_one") {
  Domain domain;
  StreamPair pair(domain.pd);
  std::uint64_t place = kMany * kPiece;
  {
    StreamPair other(domain.pd, {.largest_ring = kLargerRings});
    carry(*other.here, *other.there, 0, kMany);
    carry(*pair.here, *pair.there, 0, kMany);
    const std::size_t space = empty_ring(*pair.here, *pair.there, place);
    CHECK(space <= kRing);
    place += space;
  }
  // The other one has given its memory back; it is asked for again, ever more rarely.
  for (int times = 0; times < 10; ++times) {
    carry(*pair.here, *pair.there, place, kMany);
    place += kMany * kPiece;
  }
  CHECK(empty_ring(*pair.here, *pair.there, place) > kRing);
}

TEST_CASE("small_sends_are_packed_and_arrive_after_the_ring_has_grown") {
  Domain domain;
  StreamPair pair(domain.pd);
  carry(*pair.here, *pair.there, 0, kMany);
  const std::uint64_t place = kMany * kPiece;
  for (std::size_t i = 0; i < 2000; ++i) {
    REQUIRE(pair.here->send(bytes_from(place + i, 1), kPatience).bytes == 1);
    // The sender makes no call meanwhile.
    if (i % 50 == 49) receive_bytes(*pair.there, place + i - 49, 50);
  }
}

TEST_CASE("the_end_comes_after_all_bytes_wherever_a_ring_grows") {
  const bool hands_over = GENERATE(false, true);
  const StreamOptions options = GENERATE(kPacketizedStream, kZeroCopyStream, kSmallFirst);
  Domain domain;
  for (std::size_t pieces = 1; pieces < 20; ++pieces) {
    StreamPair pair(domain.pd, options);
    Threads threads;
    threads.start([&] {
      receive_bytes(*pair.there, 0, pieces * kPiece);
      std::byte more;
      require(pair.there->receive(std::span(&more, 1), kPatience).status == Status::kEnd,
              "there is no end");
      require(pair.there->handed_over() == hands_over, "it is another end");
    });
    for (std::size_t i = 0; i < pieces; ++i) {
      REQUIRE(pair.here->send(bytes_from(i * kPiece, kPiece), kPatience).bytes == kPiece);
    }
    if (hands_over) {
      pair.here->hand_over();
    } else {
      pair.here->finish_sending();
    }
    threads.join();
    // The other direction goes on.
    carry(*pair.there, *pair.here, 0, 1);
  }
}

TEST_CASE("a_peer_that_is_killed_while_a_ring_grows_resets_the_stream") {
  const bool receives = GENERATE(false, true);
  const StreamOptions options = GENERATE(kPacketizedStream, kZeroCopyStream);
  for (std::size_t pieces = 1; pieces < 12; ++pieces) {
    const std::string name = fresh_name();
    RemotePeer peer([&](Wire& wire) {
      Domain domain;
      Listener listener(domain.pd, name);
      const std::unique_ptr<Stream> stream = listener.accept(kPatience);
      for (std::size_t i = 0;; ++i) {
        if (i == pieces) wire.meet();
        if (receives) {
          receive_bytes(*stream, i * kPiece, kPiece);
        } else {
          require(stream->send(bytes_from(i * kPiece, kPiece), kPatience).bytes == kPiece,
                  "a send failed");
        }
      }
    });
    Domain domain;
    const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, options);
    Threads threads;
    threads.start([&] {
      std::vector<std::byte> bytes(kPiece);
      Result result{0, Status::kOk};
      for (std::uint64_t place = 0; result.status == Status::kOk; place += result.bytes) {
        if (receives) {
          result = stream->send(bytes_from(place, kPiece), kPatience);
        } else {
          result = stream->receive(bytes, kPatience);
          require(are_from(place, std::span(bytes).first(result.bytes)), "other bytes came");
        }
      }
      require(result.status == (receives ? Status::kBrokenPipe : Status::kReset),
              "the death is not told");
    });
    peer.wire().meet();
    peer.kill();
    threads.join();
  }
}
