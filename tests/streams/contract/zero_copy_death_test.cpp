// SPDX-License-Identifier: MIT
// What the other side sees when a process is killed, or stopped, in the middle of a long send.
#include <signal.h>

#include <chrono>

#include "../support/pair.hpp"
#include "support/catch.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kVeryLong = 1'000'000;

/// Receives pieces of that size until something else than bytes comes.
Status receive_until_end(Stream& stream, std::size_t piece, std::size_t& received) {
  std::vector<std::byte> into(piece);
  for (received = 0;;) {
    const Result result = stream.receive(into, kPatience);
    if (result.status != Status::kOk) return result.status;
    require(are_from(received, std::span(into).first(result.bytes)), "other bytes were received");
    received += result.bytes;
  }
}

/// What a process does that receives all that comes, once both have met.
void visit_and_receive(Wire& wire, const std::string& name) {
  Domain domain;
  const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, kZeroCopyStream);
  wire.meet();
  std::vector<std::byte> into(20'000);
  while (stream->receive(into, kPatience).status == Status::kOk) {
  }
}

}  // namespace

TEST_CASE("a_sender_that_is_killed_resets_who_reads_its_memory") {
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire& wire) {
    Domain domain;
    const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, kZeroCopyStream);
    const std::vector<std::byte> bytes = bytes_from(0, kVeryLong);
    wire.meet();
    stream->send(bytes, 2 * kPatience);
    wire.hear<int>();  // Until it is killed.
  });
  Domain domain;
  Listener listener(domain.pd, name);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  peer.wire().meet();
  dtutils::Deadline deadline(kPatience);
  while (!stream->receive_ready()) REQUIRE_FALSE(deadline.passed());
  Random random(test_seed());
  std::size_t received = 0;
  Threads threads;
  // At any moment: before, between or during the reads.
  threads.start([&] {
    require(receive_until_end(*stream, 20'000, received) == Status::kReset, "there was no reset");
  });
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
  peer.kill();
  threads.join();
  CHECK(received <= kVeryLong);
}

TEST_CASE("a_receiver_that_is_killed_breaks_the_send_that_it_reads") {
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire& wire) { visit_and_receive(wire, name); });
  Domain domain;
  Listener listener(domain.pd, name);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  peer.wire().meet();
  Random random(test_seed());
  Threads threads;
  threads.start([&] {
    Result result{0, Status::kOk};
    dtutils::Deadline deadline(kPatience);
    while (result.status == Status::kOk && !deadline.passed()) {
      result = stream->send(bytes_from(0, kVeryLong), kPatience);
    }
    require(result.status == Status::kBrokenPipe, "the sender was not told");
    require(result.bytes <= kVeryLong, "more was sent than there is");
  });
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
  peer.kill();
  threads.join();
}

TEST_CASE("a_receiver_that_is_stopped_does_not_hold_a_sender_whose_time_is_over") {
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire& wire) { visit_and_receive(wire, name); });
  Domain domain;
  Listener listener(domain.pd, name);
  std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  peer.wire().meet();
  const std::vector<std::byte> bytes = bytes_from(0, kVeryLong);
  REQUIRE(stream->send(std::span(bytes).first(100'000), kPatience).status == Status::kOk);
  peer.stop();
  // What is more than the ring and the receiver's hands hold.
  const auto begin = std::chrono::steady_clock::now();
  const Result result = stream->send(bytes, milliseconds(100));
  CHECK(result.status == Status::kTimeout);
  CHECK(result.bytes < kVeryLong);
  CHECK(std::chrono::steady_clock::now() - begin < kPatience / 2);
  peer.kill();
}
