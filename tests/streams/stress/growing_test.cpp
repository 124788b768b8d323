// SPDX-License-Identifier: MIT
// Rings that grow under bursts of small sends and long ones, with receivers that look in all ways.
#include <poll.h>

#include "../support/pair.hpp"
#include "support/catch.hpp"

using namespace streams;
using namespace support;

namespace {

constexpr std::uint64_t kTotal = 120'000;

/// Sends all, now single bytes, which are packed, and now pieces that do not fit into the ring.
void send_bursts(Stream& stream, Random random) {
  for (std::uint64_t sent = 0; sent < kTotal;) {
    const bool small = random.one_in(2);
    const std::size_t size = small ? random.below(3) + 1 : random.below(12'000);
    for (std::size_t times = small ? random.below(300) : 1; times != 0 && sent < kTotal; --times) {
      const std::size_t piece = std::min<std::uint64_t>(size, kTotal - sent);
      require(stream.send(bytes_from(sent, piece), kPatience).bytes == piece, "a send failed");
      sent += piece;
    }
    if (random.one_in(3)) static_cast<void>(stream.writable());
  }
  stream.finish_sending();
}

/// Sleeps until there may be more.
void sleep_for_more(Stream& stream) {
  stream.arm();
  if (stream.receive_ready()) return;
  pollfd entry{stream.descriptor(), POLLIN, 0};
  require(poll(&entry, 1, static_cast<int>(kPatience.count())) == 1, "nothing woke the receiver");
}

void receive_in_all_ways(Stream& stream, Random random) {
  std::vector<std::byte> into(20'000);
  for (std::uint64_t received = 0;;) {
    const auto bytes = std::span(into).first(random.size_up_to(into.size()));
    if (random.one_in(4)) {
      const std::size_t readable = stream.readable();
      const std::size_t peeked = stream.try_peek(bytes).bytes;
      require(peeked >= std::min(readable, bytes.size()), "a peek has fewer bytes");
      require(are_from(received, bytes.first(peeked)), "a peek has other bytes");
    }
    if (random.one_in(8)) {
      for (std::size_t pauses = random.below(20'000); pauses != 0; --pauses) dtutils::cpu_pause();
    }
    const Result result = stream.try_receive(bytes);
    if (result.status == Status::kEnd) {
      require_equal(received, kTotal, "the number of bytes received");
      return;
    }
    require(are_from(received, bytes.first(result.bytes)), "other bytes were received");
    received += result.bytes;
    if (result.bytes != 0 || bytes.empty()) continue;
    require(result.status == Status::kWouldBlock, "the stream ended early");
    if (random.one_in(2)) sleep_for_more(stream);
  }
}

}  // namespace

TEST_CASE("bursts_of_all_sizes_arrive_in_order_while_rings_grow") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  const FlowControl flow = GENERATE(FlowControl::kPacketized, FlowControl::kZeroCopy);
  const std::uint32_t largest = GENERATE(2 * kSmallestRing, 16 * kSmallestRing);
  Domain domain;
  for (int i = 0; i < rounds(15); ++i) {
    StreamPair pair(domain.pd, {.flow = flow, .ring = kSmallestRing, .largest_ring = largest});
    const Random random(seed + static_cast<std::uint64_t>(i));
    Threads threads;
    threads.start([&] { receive_in_all_ways(*pair.there, random); });
    send_bursts(*pair.here, random);
    threads.join();
  }
}
