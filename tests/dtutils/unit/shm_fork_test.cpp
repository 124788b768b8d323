// SPDX-License-Identifier: MIT
// A child made by fork(2) cannot disturb its parent's shm device, whatever it does with its copy.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr unsigned kChildSeconds = 20;

/// Runs `body` in a forked child; true when it returned true there.
template <class Body>
bool in_child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(kChildSeconds);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_refused(CompletionChannel& channel) {
  try {
    channel.wait(std::chrono::milliseconds(0));
  } catch (const Error&) {
    return true;
  }
  return false;
}

/// Whether every operation is refused.
bool everything_is_refused(Side& side, const RemoteMemoryLocator& to) {
  ibv_wc completion{};
  return side.qp.post_write(side.local(0, 8), to, 66, kSignaled) != PostResult::kOk &&
         side.qp.post_send(side.local(0, 8), 66, kSignaled) != PostResult::kOk &&
         side.qp.post_receive(side.local(0, 8), 66) != PostResult::kOk &&
         side.receives.poll({&completion, 1}) < 0 && !side.receives.arm() &&
         is_refused(side.receive_channel);
}

}  // namespace

TEST_CASE("shm_child_of_fork_is_refused_and_the_parent_goes_on") {
  Pair pair;
  REQUIRE(pair.b.receives.arm());
  must(pair.b.qp.post_receive(pair.b.local(0, 8), 1));
  must(pair.a.qp.post_send(pair.a.local(0, 8), 2, kSignaled));
  CHECK(in_child([&] {
    return everything_is_refused(pair.a, pair.b.remote(0, 8)) &&
           everything_is_refused(pair.b, pair.a.remote(0, 8));
  }));
  // Neither the event nor the completion was taken away.
  CHECK(pair.b.receive_channel.wait(kPatience) == pair.b.receives.raw());
  success(pair.b.receives, 1);
  success(pair.a.sends, 2);
}

TEST_CASE("shm_child_of_fork_cannot_post_to_a_shared_receive_queue") {
  SideOptions options;
  options.shared_receives = 1;
  Pair pair(SideOptions{}, options);
  CHECK(in_child([&] { return !pair.b.shared_receives->post_receive(pair.b.local(0, 8), 66); }));
  REQUIRE(pair.b.shared_receives->post_receive(pair.b.local(0, 8), 1));
  must(pair.a.qp.post_send(pair.a.local(0, 8), 2, kSignaled));
  success(pair.b.receives, 1);
}

TEST_CASE("shm_child_of_fork_that_destroys_its_copies_destroys_nothing_of_the_parent") {
  auto pair = std::make_unique<Pair>();
  must(pair->b.qp.post_receive(pair->b.local(0, 8), 1));
  CHECK(in_child([&] {
    pair.reset();
    return true;
  }));
  must(pair->a.qp.post_send(pair->a.local(0, 8), 2, kSignaled));
  success(pair->a.sends, 2);
  success(pair->b.receives, 1);
  must(pair->a.qp.post_write(pair->a.local(0, 8), pair->b.remote(0, 8), 3, kSignaled));
  success(pair->a.sends, 3);
}

TEST_CASE("shm_fork_finds_the_device_whole_while_other_threads_change_it") {
  Pair pair;
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) {
      Side side(*pair.device);
      side.qp.connect(side.qp.endpoint());
      must(side.qp.post_write(side.local(0, 8), side.remote(8, 8), 1, kSignaled));
      success(side.sends, 1);
    }
  });
  bool all_refused = true;
  for (int i = 0; i < 20; ++i) {
    all_refused &= in_child([&] { return everything_is_refused(pair.a, pair.b.remote(0, 8)); });
  }
  stop.store(true);
  busy.join();
  CHECK(all_refused);
}

TEST_CASE("shm_child_of_fork_opens_a_device_of_its_own_whatever_threads_of_the_parent_do") {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  WARN("SKIPPED: the sanitizer allows no threads in the child of a process with threads");
  return;
#endif
  std::atomic<bool> stop{false};
  const SharedSegment segment(4096, PageKind::kSmall, -1);
  std::thread busy([&] {
    while (!stop.load()) SharedSegment::find(segment.data(), 8);
  });
  bool all_worked = true;
  for (int i = 0; i < 20 && all_worked; ++i) {
    all_worked = in_child([] {
      Pair pair;
      return pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, 0) == PostResult::kOk;
    });
  }
  stop.store(true);
  busy.join();
  CHECK(all_worked);
}
