// SPDX-License-Identifier: MIT
// Frames of the rendezvous: whole, in pieces, too large, malformed.
#include "bootstrap/frame.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>

#include "support/catch.hpp"

using namespace dsfabric;
using namespace dsfabric::rendezvous;

namespace {

/// A connection, and the raw other end of its stream.
struct Ends {
  Ends() {
    int both[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
    connection = std::make_unique<Connection>(both[0]);
    raw = both[1];
  }
  ~Ends() {
    if (raw >= 0) close(raw);
  }
  void put(std::span<const std::uint8_t> bytes) {
    REQUIRE(write(raw, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  std::unique_ptr<Connection> connection;
  int raw;
};

}  // namespace

TEST_CASE("frame_comes_out_as_it_went_in") {
  Ends ends;
  Connection other(dup(ends.raw));
  const Bytes body = Writer().u32(7).text("seven").bytes({}).take();
  REQUIRE(other.send(Type::kHello, body));
  REQUIRE(other.send(Type::kGoodbye, {}));
  REQUIRE(ends.connection->receive(kMaxHello));
  const auto first = ends.connection->next();
  REQUIRE(first);
  CHECK(first->type == Type::kHello);
  Reader reader(first->body);
  CHECK(reader.u32() == 7u);
  CHECK(reader.text() == "seven");
  CHECK(reader.bytes()->empty());
  CHECK_FALSE(reader.u32());
  const auto second = ends.connection->next();
  REQUIRE(second);
  CHECK(second->type == Type::kGoodbye);
  CHECK(second->body.empty());
  CHECK_FALSE(ends.connection->next());
}

TEST_CASE("frame_that_comes_byte_by_byte_is_whole_at_its_last_byte") {
  Ends ends;
  const std::array<std::uint8_t, 8> bytes{3, 0, 0, 0, 8, 'a', 'b', 'c'};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CHECK_FALSE(ends.connection->next());
    ends.put({&bytes[i], 1});
    REQUIRE(ends.connection->receive(kMaxHello));
  }
  const auto frame = ends.connection->next();
  REQUIRE(frame);
  CHECK(frame->type == Type::kGoodbye);
  CHECK(std::memcmp(frame->body.data(), "abc", 3) == 0);
}

TEST_CASE("frame_larger_than_the_limit_breaks_the_connection_before_its_body_comes") {
  Ends ends;
  const std::array<std::uint8_t, 5> head{0x01, 0x10, 0, 0, 1};  // kMaxHello + 1
  ends.put(head);
  CHECK_FALSE(ends.connection->receive(kMaxHello));
}

TEST_CASE("frame_as_large_as_the_limit_is_taken") {
  Ends ends;
  std::vector<std::uint8_t> bytes(5 + kMaxHello);
  bytes[1] = kMaxHello >> 8;
  bytes[4] = 1;
  ends.put(bytes);
  REQUIRE(ends.connection->receive(kMaxHello));
  const auto frame = ends.connection->next();
  REQUIRE(frame);
  CHECK(frame->body.size() == kMaxHello);
}

TEST_CASE("frames_before_the_end_of_the_stream_can_still_be_taken") {
  Ends ends;
  const std::array<std::uint8_t, 5> bytes{0, 0, 0, 0, 2};
  ends.put(bytes);
  close(std::exchange(ends.raw, -1));
  CHECK_FALSE(ends.connection->receive(kMaxHello));
  const auto frame = ends.connection->next();
  REQUIRE(frame);
  CHECK(frame->type == Type::kWelcome);
}

TEST_CASE("send_to_a_full_socket_queues_and_flush_goes_on") {
  Ends ends;
  const Bytes body(std::size_t{4} << 20, std::byte{42});
  REQUIRE(ends.connection->send(Type::kGathered, body));
  CHECK(ends.connection->has_queued());
  Connection other(dup(ends.raw));
  std::optional<Frame> frame;
  for (int i = 0; i < 100'000 && !frame; ++i) {
    REQUIRE(ends.connection->flush());
    REQUIRE(other.receive(kMaxFrame));
    frame = other.next();
  }
  REQUIRE(frame);
  CHECK(frame->body == body);
  CHECK_FALSE(ends.connection->has_queued());
}

TEST_CASE("reader_refuses_lengths_beyond_the_body") {
  const Bytes lying = Writer().u32(1000).u32(1).take();
  CHECK_FALSE(Reader(lying).bytes());
  CHECK_FALSE(Reader(lying).text());
  const Bytes huge = Writer().u32(0xffff'ffff).take();
  CHECK_FALSE(Reader(huge).bytes());
  CHECK_FALSE(Reader(Bytes(3)).u32());
}

TEST_CASE("frames_that_many_share_are_sent_to_each_of_them") {
  const Bytes body(100'000, std::byte{7});
  const auto frame = make_frame(Type::kGathered, body);
  Ends a;
  Ends b;
  for (Ends* const each : {&a, &b}) {
    Connection other(dup(each->raw));
    REQUIRE(each->connection->send(frame));
    REQUIRE(each->connection->send(Type::kGoodbye, {}));
    std::optional<Frame> got;
    for (int i = 0; i < 1000 && !got; ++i) {
      REQUIRE(each->connection->flush());
      REQUIRE(other.receive(kMaxFrame));
      got = other.next();
    }
    REQUIRE(got);
    CHECK(got->body == body);
    REQUIRE(each->connection->flush());
    REQUIRE(other.receive(kMaxFrame));
    CHECK(other.next()->type == Type::kGoodbye);
  }
  CHECK(frame.use_count() == 1);
}

TEST_CASE("stranger_is_held_in_no_more_memory_than_a_greeting_takes") {
  Ends ends;
  const std::vector<std::uint8_t> zeros(60'000);  // empty frames, one after the other
  ends.put(zeros);
  REQUIRE(ends.connection->receive(kMaxHello));
  int frames = 0;
  while (ends.connection->next()) ++frames;
  CHECK(frames == (kMaxHello + 5) / 5);
}
