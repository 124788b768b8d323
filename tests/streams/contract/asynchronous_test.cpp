// SPDX-License-Identifier: MIT
// Sends that return before the peer has read them: what the program does to the memory afterwards
// does not arrive.
#include "../support/asynchronous.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "support/catch.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

TEST_CASE("an_asynchronous_send_returns_before_it_is_read") {
  if (skipped_where_sends_are_synchronous()) return;
  const StreamOptions options = some_asynchronous_stream();
  Domain domain;
  StreamPair pair(domain.pd, options);
  // Also with an odd beginning and end, which are copied.
  const std::size_t odd = GENERATE(std::size_t{0}, std::size_t{77});
  Pages pages(kSent + 4096);
  const std::span<std::byte> bytes = pages.bytes().subspan(odd, kSent + odd);
  put_bytes(bytes, 0);
  CHECK(pair.here->send(bytes, kPatience).bytes == bytes.size());
  CHECK(pair.here->settle(milliseconds(10)) == Status::kTimeout);
  receive_bytes(*pair.there, 0, bytes.size());
  CHECK(pair.here->settle(kPatience) == Status::kOk);
}

TEST_CASE("what_is_written_after_a_send_does_not_arrive") {
  if (skipped_where_sends_are_synchronous()) return;
  SentPages sent;
  // Before the peer reads, or when it has read a part.
  const std::size_t before = GENERATE(std::size_t{0}, std::size_t{10}, std::size_t{100'000});
  sent.send();
  if (before != 0) receive_bytes(*sent.pair.there, 0, before);
  std::fill(sent.pages.bytes().begin(), sent.pages.bytes().end(), std::byte{0});
  CHECK(sent.pair.here->send(bytes_from(kSent, 9), kPatience).bytes == 9);
  receive_bytes(*sent.pair.there, before, kSent + 9 - before);
  CHECK(sent.pair.here->settle(kPatience) == Status::kOk);
}

TEST_CASE("system_calls_write_into_memory_that_was_sent") {
  if (skipped_where_sends_are_synchronous()) return;
  SentPages sent;
  sent.send();
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  REQUIRE(zeros >= 0);
  const bool stops = sent.options.protection == PageProtection::kUserfaultfd;
  errno = 0;
  const ssize_t got = read(zeros, sent.pages.bytes().data(), kSent);
  CHECK(got == (stops ? static_cast<ssize_t>(kSent) : -1));
  CHECK(errno == (stops ? 0 : EFAULT));
  close(zeros);
  CHECK((sent.pages.bytes()[kSent - 1] == std::byte{0}) == stops);
  receive_bytes(*sent.pair.there, 0, kSent);
}

TEST_CASE("overlapping_sends_arrive_as_they_were") {
  if (skipped_where_sends_are_synchronous()) return;
  const StreamOptions options = some_asynchronous_stream();
  Domain domain;
  StreamPair first(domain.pd, options);
  StreamPair second(domain.pd, options);
  Pages pages(kSent);
  put_bytes(pages.bytes(), 0);
  CHECK(first.here->send(pages.bytes(), kPatience).bytes == kSent);
  // These pages are protected already, so this one waits.
  Threads threads;
  threads.start([&] { receive_bytes(*second.there, 0, kSent); });
  CHECK(second.here->send(pages.bytes(), kPatience).bytes == kSent);
  threads.join();
  // This one waits for the first, whose bytes are the old ones.
  threads.start([&] {
    receive_bytes(*first.there, 0, kSent);
    receive_bytes(*first.there, 5, kSent);
  });
  put_bytes(pages.bytes(), 5);
  CHECK(first.here->send(pages.bytes(), kPatience).bytes == kSent);
  std::fill(pages.bytes().begin(), pages.bytes().end(), std::byte{0});
  threads.join();
}

TEST_CASE("a_child_and_its_parent_write_into_memory_that_was_sent") {
  if (skipped_where_sends_are_synchronous()) return;
  SentPages sent;
  sent.send();
  std::byte* const data = sent.pages.bytes().data();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // It has the bytes, and may write, and so may the system calls that it makes.
    const bool whole = are_from(0, sent.pages.bytes());
    const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    const bool called = read(zeros, data, kSent) == static_cast<ssize_t>(kSent);
    std::memset(data, 1, kSent);
    _exit(whole && called && data[kSent - 1] == std::byte{1} ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  std::memset(data, 2, kSent);
  receive_bytes(*sent.pair.there, 0, kSent);
}

TEST_CASE("a_receiver_that_never_reads_does_not_hold_who_writes_or_closes") {
  if (skipped_where_sends_are_synchronous()) return;
  SentPages sent;
  sent.send();
  const auto begin = std::chrono::steady_clock::now();
  std::fill(sent.pages.bytes().begin(), sent.pages.bytes().end(), std::byte{0});
  const bool close_first = GENERATE(true, false);
  (close_first ? sent.pair.here : sent.pair.there).reset();
  CHECK(std::chrono::steady_clock::now() - begin < kPatience);
  // What was not read is lost, and both sides learn it.
  std::byte into[8];
  if (close_first) {
    CHECK(sent.pair.there->receive(into, kPatience).status == Status::kReset);
  } else {
    CHECK(sent.pair.here->settle(kPatience) == Status::kBrokenPipe);
    CHECK(sent.pair.here->send(sent.pages.bytes(), kPatience).status == Status::kBrokenPipe);
  }
}

TEST_CASE("memory_that_is_unmapped_before_it_is_read_resets_the_stream") {
  if (skipped_where_sends_are_synchronous()) return;
  if (!may_send_asynchronously()) {
    WARN("SKIPPED: this process may not use userfaultfd(2)");
    return;
  }
  const StreamOptions options = asynchronous_stream(PageProtection::kUserfaultfd);
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire& wire) {
    Domain domain;
    const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, options);
    Pages pages(kSent);
    put_bytes(pages.bytes(), 0);
    require(stream->send(pages.bytes(), kPatience).bytes == kSent, "a send failed");
    pages.unmap();
    wire.meet();
    wire.hear<int>();  // Until it is killed.
  });
  Domain domain;
  Listener listener(domain.pd, name);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  peer.wire().meet();
  std::vector<std::byte> into(kSent);
  CHECK(stream->receive(into, kPatience).status == Status::kReset);
  peer.kill();
}

TEST_CASE("a_killed_receiver_does_not_hold_who_writes") {
  const StreamOptions options = some_asynchronous_stream();
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire& wire) {
    Domain domain;
    const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, options);
    wire.meet();
    std::vector<std::byte> into(5000);
    while (stream->receive(into, kPatience).status == Status::kOk) {
    }
  });
  Domain domain;
  Listener listener(domain.pd, name, options);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  peer.wire().meet();
  Pages pages(kSent);
  put_bytes(pages.bytes(), 0);
  CHECK(stream->send(pages.bytes(), kPatience).bytes == kSent);
  Random random(test_seed());
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(2000)));
  peer.kill();
  std::fill(pages.bytes().begin(), pages.bytes().end(), std::byte{0});
  Result result{0, Status::kOk};
  dtutils::Deadline deadline(kPatience);
  while (result.status == Status::kOk && !deadline.passed()) {
    result = stream->send(pages.bytes(), kPatience);
  }
  CHECK(result.status == Status::kBrokenPipe);
}
