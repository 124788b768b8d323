// SPDX-License-Identifier: MIT
// Random sizes and timings: no byte is lost, changed, doubled or reordered.
#include "../support/pair.hpp"
#include "support/catch.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;

namespace {

/// Keeps the processor busy for a moment now and then, long enough that the other side falls
/// asleep.
void linger(Random& random) {
  if (!random.one_in(100)) return;
  for (std::size_t pauses = random.below(40'000); pauses != 0; --pauses) dtutils::cpu_pause();
}

/// Sends `total` bytes and receives as many, in pieces of random sizes, both at once.
void exchange(Stream& stream, std::uint64_t total, Random random, std::size_t largest) {
  std::vector<std::byte> into(largest);
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  // Of the next byte: a loaded machine may take long for all of them.
  dtutils::Deadline deadline(kPatience);
  dtutils::Backoff backoff;
  for (bool ended = false; !ended || sent < total;) {
    require(!deadline.passed(), "the exchange stands still");
    linger(random);
    const std::size_t size = std::min<std::uint64_t>(random.size_up_to(largest), total - sent);
    const Result out = stream.try_send(bytes_from(sent, size));
    sent += out.bytes;
    if (size != 0 && sent == total) stream.finish_sending();
    const Result in = stream.try_receive(std::span(into).first(random.size_up_to(largest)));
    require(are_from(received, std::span(into).first(in.bytes)), "other bytes were received");
    received += in.bytes;
    ended = in.status == Status::kEnd;
    require(in.status != Status::kReset, "the stream was reset");
    if (out.bytes == 0 && in.bytes == 0) {
      backoff.pause();
      continue;
    }
    deadline = dtutils::Deadline(kPatience);
    backoff.reset();
  }
  require_equal(received, total, "the number of bytes received");
}

/// Sends `total` bytes by blocking calls, and ends sending.
void send_all(Stream& stream, std::uint64_t total, Random random, std::size_t largest) {
  for (std::uint64_t sent = 0; sent < total;) {
    linger(random);
    const std::size_t size = std::min<std::uint64_t>(random.size_up_to(largest), total - sent);
    const Result result = stream.send(bytes_from(sent, size), kPatience);
    require(result.status == Status::kOk && result.bytes == size, "a send failed");
    sent += size;
  }
  stream.finish_sending();
}

/// Receives by blocking calls until the end.
void receive_all(Stream& stream, std::uint64_t total, Random random, std::size_t largest) {
  std::vector<std::byte> into(largest);
  std::uint64_t received = 0;
  for (;;) {
    linger(random);
    const Result result =
        stream.receive(std::span(into).first(random.size_up_to(largest)), kPatience);
    if (result.status == Status::kEnd) break;
    require(result.status == Status::kOk, "a receive failed");
    require(are_from(received, std::span(into).first(result.bytes)), "other bytes were received");
    received += result.bytes;
  }
  require_equal(received, total, "the number of bytes received");
}

constexpr StreamOptions kSmallRing{.ring = kSmallestRing};

std::uint64_t total_for(std::size_t largest) {
  return static_cast<std::uint64_t>(rounds(100)) * (largest < 10 ? 50 : 2'000);
}

}  // namespace

TEST_CASE("random_sizes_arrive_in_order_by_blocking_calls") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  const std::size_t largest = GENERATE(std::size_t{3}, std::size_t{900}, std::size_t{60'000});
  const StreamOptions options =
      GENERATE(kSmallRing, kPacketizedStream, kCreditStream, kZeroCopyStream);
  const std::uint64_t total = total_for(largest);
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire&) {
    Domain domain;
    const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, options);
    receive_all(*stream, total, Random(seed), largest);
    send_all(*stream, total, Random(seed + 1), largest);
  });
  Domain domain;
  Listener listener(domain.pd, name);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  send_all(*stream, total, Random(seed + 2), largest);
  receive_all(*stream, total, Random(seed + 3), largest);
  peer.join();
}

TEST_CASE("random_sizes_arrive_in_order_in_both_directions_at_once") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  const std::size_t largest = GENERATE(std::size_t{3}, std::size_t{900}, std::size_t{60'000});
  const StreamOptions options =
      GENERATE(kSmallRing, kPacketizedStream, kCreditStream, kZeroCopyStream);
  const std::uint64_t total = total_for(largest);
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire& wire) {
    Domain domain;
    const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, options);
    exchange(*stream, total, Random(seed), largest);
    wire.meet();
  });
  Domain domain;
  Listener listener(domain.pd, name);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  exchange(*stream, total, Random(seed + 1), largest);
  peer.wire().meet();
  peer.join();
}
