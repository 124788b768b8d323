// SPDX-License-Identifier: MIT
// Calls of one side at a time: what a side owes its peer may not wait for its next call.
#include <poll.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "../support/pair.hpp"
#include "support/catch.hpp"

using namespace streams;
using namespace support;

namespace {

/// One direction, and its bytes.
class Direction {
 public:
  Direction(Stream& from, Stream& to) : from_(from), to_(to) {}

  std::uint64_t in_flight() const { return sent_ - received_; }
  /// Bytes for which there is space in any case.
  std::size_t free() const {
    // Of a ring, or of the messages of credits, a part may not have come back.
    constexpr std::size_t kSpace = kRing - kRing / kPartsOfRing;
    const std::size_t used = in_flight() + kHeads * (ends_.size() + 1);
    return used >= kSpace || ends_.size() == kCreditMessages / 2 ? 0 : kSpace - used;
  }
  void send(std::size_t bytes) {
    const Result result = from_.send(bytes_from(sent_, bytes), kPatience);
    INFO("sent " << sent_ << ", received " << received_ << ", and now " << bytes);
    REQUIRE(result.bytes == bytes);
    sent_ += bytes;
    ends_.push_back(sent_);
  }
  void receive(std::size_t bytes) {
    std::vector<std::byte> into(bytes);
    for (std::size_t done = 0; done != bytes;) {
      const std::span<std::byte> rest = std::span(into).subspan(done);
      const Result result = to_.receive(rest, kPatience);
      INFO("sent " << sent_ << ", received " << received_ + done << " of " << bytes);
      REQUIRE(result.status == Status::kOk);
      done += result.bytes;
    }
    REQUIRE(are_from(received_, into));
    received_ += bytes;
    while (!ends_.empty() && ends_.front() <= received_) ends_.pop_front();
  }
  void end() {
    from_.finish_sending();
    if (in_flight() != 0) receive(in_flight());
    std::byte into[1];
    CHECK(to_.receive(into, kPatience).status == Status::kEnd);
  }

 private:
  /// A send of zero-copy takes two frames at most.
  static constexpr std::size_t kHeads = 2 * sizeof(std::uint64_t);

  Stream& from_;
  Stream& to_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  /// Of the sends that were not received completely.
  std::deque<std::uint64_t> ends_;
};

}  // namespace

TEST_CASE("no_call_waits_for_one_of_the_other_side_while_there_is_space") {
  const StreamOptions options = GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream);
  const std::uint64_t seed = test_seed();
  CAPTURE(seed, options.flow);
  Random random(seed);
  Domain domain;
  constexpr int kRounds = 30;
  for (int round = 0; round < kRounds; ++round) {
    StreamPair pair(domain.pd, options);
    Direction out(*pair.here, *pair.there);
    Direction back(*pair.there, *pair.here);
    for (int call = 0; call < 60; ++call) {
      Direction& direction = random.one_in(2) ? out : back;
      if (random.one_in(2)) {
        // Many at once fill the queues of requests.
        for (std::size_t sends = random.size_up_to(16); sends != 0; --sends) {
          const std::size_t free = direction.free();
          if (free != 0) direction.send(random.size_up_to(free));
        }
      } else if (direction.in_flight() != 0) {
        direction.receive(random.one_in(2) ? direction.in_flight()
                                           : 1 + random.below(direction.in_flight()));
      }
    }
    out.end();
    back.end();
  }
}

TEST_CASE("credits_that_come_behind_many_messages_are_found_before_a_sleep") {
  Domain domain;
  StreamPair pair(domain.pd, kCreditStream);
  Direction out(*pair.here, *pair.there);
  Direction back(*pair.there, *pair.here);
  for (std::uint32_t i = 0; i < kCreditMessages; ++i) out.send(1);
  for (std::uint32_t i = 0; i < kCreditMessages; ++i) back.send(1);
  out.receive(kCreditMessages);
  pair.here->arm();
  pollfd event{pair.here->descriptor(), POLLIN, 0};
  while (!pair.here->send_ready()) {
    REQUIRE(poll(&event, 1, static_cast<int>(kPatience.count())) == 1);
    pair.here->arm();
  }
}
