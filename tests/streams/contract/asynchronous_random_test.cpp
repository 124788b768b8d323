// SPDX-License-Identifier: MIT
// Random asynchronous sends, and threads that write into what was sent as soon as they may.
#include <atomic>
#include <cstring>

#include "../support/asynchronous.hpp"
#include "support/catch.hpp"

using namespace streams;
using namespace support;

namespace {

/// Writes somewhere into `bytes` until it is told to stop.
void scribble(std::span<std::byte> bytes, Random random, const std::atomic<bool>& stop) {
  do {
    const std::size_t at = random.below(bytes.size());
    std::memset(bytes.data() + at, 0,
                random.size_up_to(std::min<std::size_t>(bytes.size() - at, 20'000)));
  } while (!stop);
}

void send_and_scribble(Stream& stream, std::uint64_t total, Random random) {
  Pages pages(3 * kAsynchronousFrom);
  for (std::uint64_t sent = 0; sent < total;) {
    const std::size_t from = random.below(10'000);
    const std::size_t largest = random.one_in(3) ? 2000 : pages.bytes().size() - from;
    const std::size_t size = std::min<std::uint64_t>(1 + random.below(largest), total - sent);
    const std::span<std::byte> bytes = pages.bytes().subspan(from, size);
    put_bytes(bytes, sent);
    const Result result = stream.send(bytes, kPatience);
    require(result.status == Status::kOk && result.bytes == size, "a send failed");
    sent += size;
    std::atomic<bool> stop{false};
    Threads threads;
    // Two threads write into disjoint halves.
    const std::size_t half = size / 2 + 1;
    threads.start([&] { scribble(bytes.first(half), Random(sent), stop); });
    if (size > half) threads.start([&] { scribble(bytes.subspan(half), Random(~sent), stop); });
    for (std::size_t pauses = random.below(20'000); pauses != 0; --pauses) dtutils::cpu_pause();
    stop = true;
    threads.join();
  }
  stream.finish_sending();
  // Before the memory goes away.
  require(stream.settle(kPatience) == Status::kOk, "the last bytes were not read");
}

}  // namespace

TEST_CASE("random_sends_that_threads_write_into_arrive_as_they_were") {
  const StreamOptions options = some_asynchronous_stream();
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  const std::uint64_t total = static_cast<std::uint64_t>(rounds(4)) * 1'000'000;
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire&) {
    Domain domain;
    const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, options);
    send_and_scribble(*stream, total, Random(seed));
  });
  Domain domain;
  Listener listener(domain.pd, name, options);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  Random random(seed + 1);
  std::vector<std::byte> into(600'000);
  std::uint64_t received = 0;
  for (;;) {
    // Mostly large ones: on a loaded machine each read of the adversarial mode takes long.
    const std::size_t wanted = random.one_in(4) ? random.size_up_to(into.size()) : into.size();
    const Result result = stream->receive(std::span(into).first(wanted), kPatience);
    if (result.status == Status::kEnd) break;
    REQUIRE(result.status == Status::kOk);
    require(are_from(received, std::span(into).first(result.bytes)), "other bytes were received");
    received += result.bytes;
  }
  CHECK(received == total);
  peer.join();
}
