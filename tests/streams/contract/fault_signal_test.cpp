// SPDX-License-Identifier: MIT
// Asynchronous sends beside handlers of SIGSEGV that the program has.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "../support/asynchronous.hpp"
#include "support/catch.hpp"

using namespace streams;
using namespace support;

namespace {

constexpr StreamOptions kByFaultSignal = asynchronous_stream(PageProtection::kFaultSignal);
constexpr int kHandled = 42;

/// What waitpid(2) says of a child that does this.
int status_of(const std::function<void()>& work) {
  const pid_t child = fork();
  require(child >= 0, "fork failed");
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    work();
    _exit(0);
  }
  int status = 0;
  require(waitpid(child, &status, 0) == child, "waitpid failed");
  return status;
}

/// Writes where nothing may be written, and where nothing is.
void write_wrongly(bool mapped) {
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!mapped) munmap(page, 4096);
  *static_cast<volatile char*>(page) = 1;
}

void end_as_handled(int) { _exit(kHandled); }

/// True if a send returns before the peer has read.
bool returns_early(StreamPair& pair, Pages& pages) {
  put_bytes(pages.bytes(), 0);
  return pair.here->send(pages.bytes(), std::chrono::milliseconds(50)).bytes == kSent;
}

}  // namespace

TEST_CASE("wrong_writes_still_end_a_program_that_has_no_handler") {
  const bool mapped = GENERATE(true, false);
  const int status = status_of([&] {
    signal(SIGSEGV, SIG_DFL);
    Domain domain;
    StreamPair pair(domain.pd, kByFaultSignal);
    write_wrongly(mapped);
  });
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
}

TEST_CASE("a_signal_that_is_sent_still_ends_a_program_that_has_no_handler") {
  const int status = status_of([] {
    signal(SIGSEGV, SIG_DFL);
    Domain domain;
    StreamPair pair(domain.pd, kByFaultSignal);
    raise(SIGSEGV);
  });
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
}

TEST_CASE("wrong_writes_reach_the_handler_of_the_program") {
  if (skipped_where_sends_are_synchronous()) return;
  const bool mapped = GENERATE(true, false);
  const int status = status_of([&] {
    signal(SIGSEGV, end_as_handled);
    Domain domain;
    StreamPair pair(domain.pd, kByFaultSignal);
    Pages pages(kSent);
    require(returns_early(pair, pages), "a send did not return early");
    put_bytes(pages.bytes(), 7);
    receive_bytes(*pair.there, 0, kSent);
    write_wrongly(mapped);
  });
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == kHandled));
}

TEST_CASE("a_handler_that_comes_later_ends_asynchronous_sends_until_the_next_stream") {
  if (skipped_where_sends_are_synchronous()) return;
  const int status = status_of([] {
    Domain domain;
    StreamPair pair(domain.pd, kByFaultSignal);
    signal(SIGSEGV, end_as_handled);
    Pages pages(kSent);
    require(!returns_early(pair, pages), "a send went on without protection");
    StreamPair next(domain.pd, kByFaultSignal);
    require(returns_early(next, pages), "a send of the next stream did not return early");
    put_bytes(pages.bytes(), 7);
    receive_bytes(*next.there, 0, kSent);
    write_wrongly(true);
  });
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == kHandled));
}

TEST_CASE("memory_that_may_not_be_written_is_sent_and_stays_so") {
  Domain domain;
  StreamPair pair(domain.pd, kByFaultSignal);
  Pages pages(kSent);
  put_bytes(pages.bytes(), 0);
  require(mprotect(pages.bytes().data(), kSent, PROT_READ) == 0, "mprotect failed");
  Threads threads;
  threads.start([&] { receive_bytes(*pair.there, 0, kSent); });
  CHECK(pair.here->send(pages.bytes(), kPatience).bytes == kSent);
  threads.join();
  CHECK(madvise(pages.bytes().data(), kSent, MADV_POPULATE_WRITE) != 0);
}
