// SPDX-License-Identifier: MIT
// Small sends that were packed: they arrive whenever the receiver looks, without the sender.
#include <poll.h>

#include "../support/asynchronous.hpp"
#include "../support/pair.hpp"
#include "support/catch.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;

namespace {

constexpr std::size_t kSmall = 700;

/// Sends `kSmall` single bytes; from the first few on they are packed.
void send_small(Stream& stream) {
  for (std::size_t i = 0; i < kSmall; ++i) {
    const std::vector<std::byte> byte = bytes_from(i, 1);
    require(stream.send(byte, kPatience).status == Status::kOk, "a send failed");
  }
}

}  // namespace

TEST_CASE("packed_bytes_arrive_while_the_sender_makes_no_call") {
  Domain domain;
  StreamPair pair(domain.pd);
  send_small(*pair.here);
  std::vector<std::byte> into(kSmall);
  SECTION("by receiving") {
    std::size_t received = 0;
    dtutils::Deadline deadline(kPatience);
    while (received < kSmall) {
      REQUIRE_FALSE(deadline.passed());
      received += pair.there->try_receive(std::span(into).subspan(received)).bytes;
    }
  }
  SECTION("by peeking") {
    dtutils::Deadline deadline(kPatience);
    while (pair.there->try_peek(into).bytes < kSmall) REQUIRE_FALSE(deadline.passed());
  }
  SECTION("by asking how many there are") {
    dtutils::Deadline deadline(kPatience);
    while (pair.there->readable() < kSmall) REQUIRE_FALSE(deadline.passed());
    CHECK(pair.there->try_receive(into).bytes == kSmall);
  }
  SECTION("by sleeping") {
    for (std::size_t received = 0; received < kSmall;) {
      pair.there->arm();
      if (!pair.there->receive_ready()) {
        pollfd entry{pair.there->descriptor(), POLLIN, 0};
        REQUIRE(poll(&entry, 1, static_cast<int>(kPatience.count())) == 1);
        continue;
      }
      received += pair.there->try_receive(std::span(into).subspan(received)).bytes;
    }
  }
  CHECK(are_from(0, into));
}

TEST_CASE("packed_bytes_leave_before_the_end") {
  Domain domain;
  StreamPair pair(domain.pd);
  send_small(*pair.here);
  const bool close = GENERATE(false, true);
  if (close) {
    pair.here.reset();
  } else {
    pair.here->finish_sending();
  }
  std::vector<std::byte> into(kSmall);
  for (std::size_t received = 0; received < kSmall;) {
    const Result result = pair.there->receive(std::span(into).subspan(received), kPatience);
    REQUIRE(result.status == Status::kOk);
    received += result.bytes;
  }
  CHECK(are_from(0, into));
  CHECK(pair.there->receive(into, kPatience).status == Status::kEnd);
}

TEST_CASE("nothing_is_packed_behind_the_end") {
  Domain domain;
  StreamPair pair(domain.pd);
  send_small(*pair.here);
  CHECK(pair.here->try_send(std::span<const std::byte>()).status == Status::kOk);
  pair.here->finish_sending();
  CHECK(pair.here->try_send(bytes_from(0, 1)).status == Status::kBrokenPipe);
  std::vector<std::byte> into(2 * kSmall);
  std::size_t received = 0;
  for (;;) {
    const Result result = pair.there->receive(std::span(into).subspan(received), kPatience);
    if (result.status == Status::kEnd) break;
    REQUIRE(result.status == Status::kOk);
    received += result.bytes;
  }
  CHECK(received == kSmall);
}

TEST_CASE("a_sleeper_is_woken_by_a_small_send_after_a_look_for_space") {
  Domain domain;
  StreamPair pair(domain.pd);
  send_small(*pair.here);
  receive_bytes(*pair.there, 0, kSmall);
  pair.there->arm();
  REQUIRE_FALSE(pair.there->receive_ready());
  // The look finds out that the peer knows of all bytes.
  CHECK(pair.here->writable() != 0);
  CHECK(pair.here->try_send(bytes_from(kSmall, 1)).bytes == 1);
  pollfd entry{pair.there->descriptor(), POLLIN, 0};
  CHECK(poll(&entry, 1, static_cast<int>(kPatience.count())) == 1);
  receive_bytes(*pair.there, kSmall, 1);
}

TEST_CASE("a_sleeper_is_woken_by_each_of_many_small_sends") {
  constexpr int kRounds = 200;
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire&) {
    Domain domain;
    const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience);
    std::byte answer[1];
    for (int i = 0; i < rounds(kRounds); ++i) {
      // More and more of them, so that packing begins and ends in all places.
      for (int k = 0; k <= i % 12; ++k) {
        require(stream->send(bytes_from(0, 1), kPatience).status == Status::kOk, "a send failed");
      }
      require(stream->receive(answer, kPatience).status == Status::kOk, "there is no answer");
    }
  });
  Domain domain;
  Listener listener(domain.pd, name);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  for (int i = 0; i < rounds(kRounds); ++i) {
    for (int left = i % 12 + 1; left != 0;) {
      stream->arm();
      std::byte into[1];
      const Result result = stream->try_receive(into);
      left -= static_cast<int>(result.bytes);
      if (result.bytes != 0 || stream->receive_ready()) continue;
      pollfd entry{stream->descriptor(), POLLIN, 0};
      REQUIRE(poll(&entry, 1, static_cast<int>(kPatience.count())) == 1);
    }
    REQUIRE(stream->send(bytes_from(0, 1), kPatience).status == Status::kOk);
  }
  peer.join();
}
