// SPDX-License-Identifier: MIT
// Memory that was sent asynchronously is taken away before the peer has read it; calls that do not
// wait.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "../support/asynchronous.hpp"
#include "support/catch.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

TEST_CASE("memory_that_was_detached_may_be_unmapped_at_once") {
  if (skipped_where_sends_are_synchronous()) return;
  SentPages sent;
  const std::size_t before = GENERATE(std::size_t{0}, std::size_t{100'000});
  sent.send();
  if (before != 0) receive_bytes(*sent.pair.there, 0, before);
  // A part of it is enough, and detaching twice, or other memory, does no harm.
  detach_sent_memory(sent.pages.bytes().data() + kSent - 1, 1);
  detach_sent_memory(sent.pages.bytes().data(), kSent);
  detach_sent_memory(&sent.domain, sizeof sent.domain);
  sent.pages.unmap();
  receive_bytes(*sent.pair.there, before, kSent - before);
  CHECK(sent.pair.here->settle(kPatience) == Status::kOk);
}

TEST_CASE("detaching_other_memory_leaves_a_send_alone") {
  if (skipped_where_sends_are_synchronous()) return;
  SentPages sent(2 * kSent);
  sent.send();
  detach_sent_memory(sent.pages.bytes().data() + kSent, kSent);
  // The other half is gone; this one is still where it was, and protected.
  CHECK(madvise(sent.pages.bytes().data() + kSent, kSent, MADV_DONTNEED) == 0);
  std::fill(sent.pages.bytes().begin(), sent.pages.bytes().begin() + kSent, std::byte{0});
  receive_bytes(*sent.pair.there, 0, kSent);
  CHECK(sent.pair.here->settle(kPatience) == Status::kOk);
}

TEST_CASE("a_call_that_does_not_wait_leaves_whole_pages_to_the_peer") {
  if (skipped_where_sends_are_synchronous()) return;
  SentPages sent;
  CHECK(sent.pair.here->try_send_asynchronously(sent.pages.bytes()).bytes == kSent);
  CHECK(sent.pair.here->settle(milliseconds(1)) == Status::kTimeout);
  // As long as that is not read, others are copied, as far as there is space.
  Pages more(kSent);
  put_bytes(more.bytes(), kSent);
  const Result result = sent.pair.here->try_send_asynchronously(more.bytes());
  CHECK(result.bytes <= kRing);
  std::fill(sent.pages.bytes().begin(), sent.pages.bytes().end(), std::byte{0});
  more.unmap();
  receive_bytes(*sent.pair.there, 0, kSent + result.bytes);
  CHECK(sent.pair.here->settle(kPatience) == Status::kOk);
}

TEST_CASE("calls_that_do_not_wait_send_memory_that_begins_anywhere") {
  const StreamOptions options = some_asynchronous_stream();
  Domain domain;
  StreamPair pair(domain.pd, options);
  Threads threads;
  constexpr std::size_t kTimes = 3;
  threads.start([&] { receive_bytes(*pair.there, 0, kTimes * kSent); });
  for (std::size_t time = 0; time < kTimes; ++time) {
    Pages pages(kSent + 4096);
    const std::span<std::byte> bytes = pages.bytes().subspan(77, kSent);
    put_bytes(bytes, time * kSent);
    dtutils::Deadline deadline(kPatience);
    for (std::size_t sent = 0; sent < kSent;) {
      const Result result = pair.here->try_send_asynchronously(bytes.subspan(sent));
      sent += result.bytes;
      REQUIRE((result.status == Status::kOk || result.status == Status::kWouldBlock));
      REQUIRE(!deadline.passed());
      if (result.bytes == 0) std::this_thread::yield();
    }
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    detach_sent_memory(bytes.data(), bytes.size());
  }
  threads.join();
  CHECK(pair.here->settle(kPatience) == Status::kOk);
}

TEST_CASE("without_asynchronous_such_a_call_copies") {
  Domain domain;
  StreamPair pair(domain.pd, GENERATE(kPacketizedStream, kZeroCopyStream, kCreditStream));
  Pages pages(kSent);
  put_bytes(pages.bytes(), 0);
  const Result result = pair.here->try_send_asynchronously(pages.bytes());
  CHECK((result.status == Status::kOk && result.bytes > 0 && result.bytes < kSent));
  pages.unmap();
  receive_bytes(*pair.there, 0, result.bytes);
}
