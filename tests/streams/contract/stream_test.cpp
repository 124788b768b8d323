// SPDX-License-Identifier: MIT
// Bytes, space, ends and readiness, between two sides in one process.
#include <poll.h>
#include <sys/resource.h>

#include <cstring>

#include "../support/pair.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

namespace {

std::span<const std::byte> text(const char* words) {
  return std::as_bytes(std::span(words, std::strlen(words)));
}

/// Waits until there are that many bytes.
void await_readable(Stream& stream, std::size_t bytes) {
  dtutils::Deadline deadline(kPatience);
  while (stream.readable() < bytes) require(!deadline.passed(), "bytes did not arrive");
}

/// Sends until there is no space; returns how many bytes that were.
std::size_t fill(Stream& stream, std::size_t piece) {
  std::size_t total = 0;
  for (;;) {
    require(total < kLargestRing, "there is space without end");
    // No space may also mean that the device still has much to do.
    const Result result = stream.send(bytes_from(total, piece), milliseconds(500));
    total += result.bytes;
    if (result.status == Status::kTimeout) return total;
    require(result.status == Status::kOk, "a send failed");
  }
}

}  // namespace

TEST_CASE("bytes_arrive_in_both_directions") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  CHECK(pair.here->send(text("ping"), kPatience).bytes == 4);
  CHECK(pair.there->send(text("answer"), kPatience).bytes == 6);
  std::byte into[16];
  await_readable(*pair.there, 4);
  CHECK(pair.there->receive(into, kPatience).bytes == 4);
  CHECK(std::memcmp(into, "ping", 4) == 0);
  await_readable(*pair.here, 6);
  CHECK(pair.here->receive(into, kPatience).bytes == 6);
  CHECK(std::memcmp(into, "answer", 6) == 0);
}

TEST_CASE("a_receive_without_bytes_would_block_and_times_out") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  std::byte into[4];
  CHECK(pair.here->try_receive(into).status == Status::kWouldBlock);
  CHECK(pair.here->receive(into, milliseconds(20)).status == Status::kTimeout);
  CHECK(pair.here->try_receive(std::span<std::byte>()).status == Status::kOk);
  CHECK(pair.here->try_send(std::span<const std::byte>()).status == Status::kOk);
}

TEST_CASE("several_buffers_are_sent_and_received_as_one") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  char first[] = "ab";
  char second[] = "cdefg";
  const iovec out[] = {{first, 2}, {nullptr, 0}, {second, 5}};
  CHECK(pair.here->try_send(out).bytes == 7);
  await_readable(*pair.there, 7);
  char left[4];
  char right[8];
  const iovec in[] = {{left, 4}, {right, 8}};
  CHECK(pair.there->try_receive(in).bytes == 7);
  CHECK(std::memcmp(left, "abcd", 4) == 0);
  CHECK(std::memcmp(right, "efg", 3) == 0);
}

TEST_CASE("peeked_bytes_stay") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  CHECK(pair.here->send(text("stay"), kPatience).bytes == 4);
  await_readable(*pair.there, 4);
  std::byte into[8];
  CHECK(pair.there->try_peek(std::span(into).first(2)).bytes == 2);
  CHECK(pair.there->try_peek(into).bytes == 4);
  CHECK(pair.there->try_receive(into).bytes == 4);
  CHECK(std::memcmp(into, "stay", 4) == 0);
  CHECK(pair.there->try_peek(into).status == Status::kWouldBlock);
}

TEST_CASE("a_receiver_that_never_reads_stops_the_sender") {
  Domain domain;
  // Many single bytes take long in the adversarial mode.
  StreamPair pair(domain.pd, {.ring = kSmallestRing});
  const std::size_t piece = GENERATE(std::size_t{1}, std::size_t{1000}, std::size_t{100'000});
  const std::size_t total = fill(*pair.here, piece);
  CHECK(total >= kSmallestRing / 2);
  CHECK(total <= kSmallestRing);
  CHECK(pair.here->send(text("more"), milliseconds(20)).status == Status::kTimeout);
  await_readable(*pair.there, total);
  std::vector<std::byte> into(kSmallestRing);
  CHECK(pair.there->try_receive(into).bytes == total);
  CHECK(are_from(0, std::span(into).first(total)));
  CHECK(pair.here->send(text("more"), kPatience).status == Status::kOk);
}

TEST_CASE("a_receive_of_all_bytes_gives_their_space_back_without_another_call") {
  const StreamOptions options = GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream);
  const std::size_t piece = GENERATE(std::size_t{300}, std::size_t{kRing / 2});
  Domain domain;
  StreamPair pair(domain.pd, options);
  for (std::uint64_t place = 0; place < 400 * piece; place += piece) {
    // Nobody makes a call for the other side.
    REQUIRE(pair.here->send(bytes_from(place, piece), kPatience).bytes == piece);
    receive_bytes(*pair.there, place, piece);
  }
}

TEST_CASE("a_message_of_credits_takes_a_buffer_however_short_it_is") {
  Domain domain;
  StreamPair pair(domain.pd, kCreditStream);
  CHECK(fill(*pair.here, 1) == kCreditMessages);
  await_readable(*pair.there, kCreditMessages);
  std::byte into[kCreditMessages];
  CHECK(pair.there->try_receive(into).bytes == kCreditMessages);
  CHECK(are_from(0, into));
  CHECK(pair.here->send(text("more"), kPatience).status == Status::kOk);
}

TEST_CASE("each_side_chooses_its_own_ring") {
  Domain domain;
  const std::string name = fresh_name();
  Listener listener(domain.pd, name, {.ring = 65536});
  std::unique_ptr<Stream> there;
  Threads threads;
  threads.start([&] { there = connect(domain.pd, name, kPatience, {.ring = kSmallestRing}); });
  const std::unique_ptr<Stream> here = listener.accept(kPatience);
  threads.join();
  CHECK(fill(*here, 300) <= kSmallestRing);
  const std::size_t total = fill(*there, 300);
  CHECK(total > 65536 / 2);
  CHECK(total <= 65536);
  await_readable(*here, total);
  std::vector<std::byte> into(total);
  CHECK(here->try_receive(into).bytes == total);
  CHECK(are_from(0, into));
}

TEST_CASE("a_ring_of_another_size_is_refused") {
  Domain domain;
  const std::uint32_t ring =
      GENERATE(0u, kSmallestRing / 2, kSmallestRing + 1, 3 * kSmallestRing, 2 * kLargestRing);
  CHECK_THROWS_AS(Listener(domain.pd, fresh_name(), {.ring = ring}), dtutils::Error);
  CHECK_THROWS_AS(connect(domain.pd, fresh_name(), milliseconds(1), {.ring = ring}),
                  dtutils::Error);
}

TEST_CASE("after_a_half_close_the_other_direction_goes_on") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  CHECK(pair.here->send(text("last"), kPatience).bytes == 4);
  pair.here->finish_sending();
  CHECK(pair.here->try_send(text("x")).status == Status::kBrokenPipe);
  await_readable(*pair.there, 4);
  std::byte into[8];
  CHECK(pair.there->receive(into, kPatience).bytes == 4);
  CHECK(pair.there->receive(into, kPatience).status == Status::kEnd);
  CHECK(pair.there->send(text("still"), kPatience).bytes == 5);
  await_readable(*pair.here, 5);
  CHECK(pair.here->receive(into, kPatience).bytes == 5);
}

TEST_CASE("an_end_says_whether_the_bytes_go_on_elsewhere") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  const bool hands_over = GENERATE(true, false);
  const bool closes = GENERATE(true, false);
  CHECK(pair.here->send(bytes_from(0, 100), kPatience).bytes == 100);
  CHECK_FALSE(pair.there->handed_over());
  hands_over ? pair.here->hand_over() : pair.here->finish_sending();
  if (closes) pair.here.reset();
  std::vector<std::byte> into(100);
  CHECK(pair.there->receive(into, kPatience).bytes == 100);
  CHECK(pair.there->receive(into, kPatience).status == Status::kEnd);
  CHECK(pair.there->handed_over() == hands_over);
  dtutils::Deadline deadline(kPatience);
  while (pair.there->closed_by_peer() != closes && !deadline.passed()) dtutils::give_way();
  CHECK(pair.there->closed_by_peer() == closes);
  CHECK(pair.there->handed_over() == hands_over);
}

TEST_CASE("the_end_leaves_without_another_call") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  // A queue of the device is full, or all space is used.
  const std::size_t piece = GENERATE(std::size_t{1}, std::size_t{1000});
  std::size_t total = 0;
  Result result{0, Status::kOk};
  do {
    result = pair.here->try_send(bytes_from(total, piece));
    total += result.bytes;
  } while (result.bytes == piece);
  pair.here->finish_sending();
  std::vector<std::byte> into(total);
  for (std::size_t received = 0; received < total; received += result.bytes) {
    result = pair.there->receive(std::span(into).subspan(received), kPatience);
    REQUIRE(result.status == Status::kOk);
  }
  CHECK(are_from(0, into));
  CHECK(pair.there->receive(into, kPatience).status == Status::kEnd);
}

TEST_CASE("bytes_sent_before_a_close_are_delivered_before_the_end") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  CHECK(pair.here->send(bytes_from(0, 5000), kPatience).bytes == 5000);
  pair.here.reset();
  std::vector<std::byte> into(5000);
  for (std::size_t got = 0; got < 5000;) {
    const Result result = pair.there->receive(std::span(into).subspan(got), kPatience);
    REQUIRE(result.status == Status::kOk);
    got += result.bytes;
  }
  CHECK(are_from(0, into));
  CHECK(pair.there->receive(into, kPatience).status == Status::kEnd);
  CHECK(pair.there->send(text("x"), kPatience).status == Status::kBrokenPipe);
  CHECK(pair.there->closed_by_peer());
}

TEST_CASE("a_close_with_unread_bytes_resets_the_peer") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  CHECK(pair.there->send(text("unread"), kPatience).bytes == 6);
  await_readable(*pair.here, 6);
  pair.here.reset();
  std::byte into[8];
  CHECK(pair.there->receive(into, kPatience).status == Status::kReset);
  CHECK(pair.there->send(text("x"), kPatience).status == Status::kBrokenPipe);
}

TEST_CASE("the_close_of_a_full_receiver_wakes_the_sender") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  fill(*pair.here, 1000);
  Threads threads;
  threads.start([&] {
    require(pair.here->send(text("more"), kPatience).status == Status::kBrokenPipe,
            "the sender was not told");
  });
  pair.there.reset();
  threads.join();
}

TEST_CASE("an_armed_descriptor_becomes_readable_with_the_first_byte") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  pollfd entry{pair.there->descriptor(), POLLIN, 0};
  // What the sides said when they met may come late.
  CHECK(eventually([&] {
    pair.there->arm();
    CHECK_FALSE(pair.there->receive_ready());
    return poll(&entry, 1, 20) == 0;
  }));
  CHECK(pair.here->send(text("wake"), kPatience).bytes == 4);
  CHECK(poll(&entry, 1, static_cast<int>(kPatience.count())) == 1);
  await_readable(*pair.there, 4);
  CHECK(pair.there->receive_ready());
}

TEST_CASE("a_receive_that_waits_uses_next_to_no_processor_time") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream));
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const auto before = used();
  std::byte into[4];
  CHECK(pair.here->receive(into, milliseconds(600)).status == Status::kTimeout);
  CHECK(used() - before < milliseconds(150));
}
