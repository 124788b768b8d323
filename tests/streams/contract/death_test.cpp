// SPDX-License-Identifier: MIT
// What the other side sees when a process is killed, in each state of a stream.
#include "../support/pair.hpp"
#include "support/catch.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;

namespace {

constexpr std::size_t kBytes = 3000;

/// What the process that will be killed does before.
enum class State { kIdle, kSent, kHalfClosed, kNeverReads };

void live(Wire& wire, const std::string& name, State state) {
  Domain domain;
  Listener listener(domain.pd, name);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  if (state == State::kSent || state == State::kHalfClosed) {
    require(stream->send(bytes_from(0, kBytes), kPatience).bytes == kBytes, "a send failed");
  }
  if (state == State::kHalfClosed) stream->finish_sending();
  wire.meet();
  wire.hear<int>();  // Until it is killed.
}

/// Receives all that comes; returns why there was no more.
Status receive_all(Stream& stream, std::size_t& received) {
  std::byte into[700];
  for (received = 0;;) {
    const Result result = stream.receive(into, kPatience);
    if (result.status != Status::kOk) return result.status;
    require(are_from(received, std::span(into).first(result.bytes)), "other bytes were received");
    received += result.bytes;
  }
}

}  // namespace

TEST_CASE("a_killed_peer_resets_the_stream_after_what_arrived") {
  const State state = GENERATE(State::kIdle, State::kSent, State::kHalfClosed);
  const StreamOptions options = GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream);
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire& wire) { live(wire, name, state); });
  Domain domain;
  const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, options);
  peer.wire().meet();
  // In the adversarial mode the device of the killed process may still hold bytes back, which die
  // with it as TCP's do; so receive them before.
  if (state != State::kIdle) {
    dtutils::Deadline deadline(kPatience);
    while (stream->readable() < kBytes) REQUIRE_FALSE(deadline.passed());
  }
  if (state == State::kHalfClosed) {
    std::size_t received = 0;
    CHECK(receive_all(*stream, received) == Status::kEnd);
    peer.kill();
    CHECK(received == kBytes);
  } else {
    peer.kill();
    std::size_t received = 0;
    CHECK(receive_all(*stream, received) == Status::kReset);
    CHECK(received == (state == State::kSent ? kBytes : 0));
  }
  // A send may be taken before the death is noticed; the next ones are not.
  Result result{0, Status::kOk};
  dtutils::Deadline deadline(kPatience);
  while (result.status == Status::kOk && !deadline.passed()) {
    result = stream->send(bytes_from(0, 100), kPatience);
  }
  CHECK(result.status == Status::kBrokenPipe);
  CHECK_FALSE(stream->closed_by_peer());
}

TEST_CASE("who_never_sleeps_is_told_that_a_peer_was_killed") {
  const bool sends = GENERATE(false, true);
  const StreamOptions options = GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream);
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire& wire) { live(wire, name, State::kNeverReads); });
  Domain domain;
  const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, options);
  peer.wire().meet();
  std::vector<std::byte> bytes = bytes_from(0, 1000);
  const auto call = [&] { return sends ? stream->try_send(bytes) : stream->try_receive(bytes); };
  const auto waits_in_vain = [](Status status) {
    return status == Status::kOk || status == Status::kWouldBlock;
  };
  // A sender has no space left, and nothing under way that could fail.
  while (call().status == Status::kOk) {
  }
  for (int times = 0; times < 1000; ++times) REQUIRE(waits_in_vain(call().status));
  peer.kill();
  Status status = Status::kWouldBlock;
  dtutils::Deadline deadline(kPatience);
  while (waits_in_vain(status) && !deadline.passed()) status = call().status;
  CHECK(status == (sends ? Status::kBrokenPipe : Status::kReset));
}

TEST_CASE("a_sender_that_waits_for_space_is_told_that_the_receiver_was_killed") {
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire& wire) { live(wire, name, State::kNeverReads); });
  Domain domain;
  const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience);
  peer.wire().meet();
  Threads threads;
  threads.start([&] {
    const Result result = stream->send(bytes_from(0, 10 * kRing), kPatience);
    require(result.status == Status::kBrokenPipe, "the sender was not told");
  });
  peer.kill();
  threads.join();
}
