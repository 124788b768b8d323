// SPDX-License-Identifier: MIT
// Processes that send through the shm device's rings and are killed at random and at every step.
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "shm/completion.hpp"
#include "shm/receive.hpp"
#include "shm/segment.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace dtutils;
using namespace dtutils::shm;

namespace {

constexpr std::uint32_t kSenders = 3;
constexpr std::uint32_t kSlots = 8;
constexpr std::uint64_t kFlushed = std::uint64_t{1} << 63;

/// A shared receive queue and its completion queue in a segment that forked children share.
class SharedReceives {
 public:
  SharedReceives() {
    for (std::uint32_t i = 0; i < kSenders; ++i) sender(i).qp_num.store((1u << kIndexBits) | i);
  }

  QueuePairEntry& sender(std::uint32_t number) { return segment_.queue_pairs[number]; }

  void post_until_full() {
    while (outstanding_.size() < kSlots) {
      ibv_recv_wr request{};
      request.wr_id = next_id_;
      if (!push_receive(segment_, receives_, request)) return;
      outstanding_[next_id_++] = 0;
    }
  }
  /// What a sender does with one message, without the message.
  bool send(std::uint32_t number) {
    Receive receive;
    if (!take_receive(segment_, receives_, sender(number), receive)) return false;
    Completion completion;
    completion.wr_id = receive.wr_id;
    const SlotOwner owner{sender(number).qp_num.load(), true};
    push_completion(segment_, completions_, owner, completion,
                    &sender(number).in_flight_completion);
    finish_receive(sender(number));
    return true;
  }
  /// Every receive completes once; their number.
  int poll() {
    ibv_wc polled[kSlots];
    // Half of the polls detach the claims that they meet.
    const auto patience = next_id_ % 2 == 0 ? kClaimPatience : std::chrono::nanoseconds(0);
    const int count = poll_completions(segment_, completions_, kSlots, polled, patience);
    REQUIRE(count >= 0);
    for (int i = 0; i < count; ++i) REQUIRE(outstanding_.erase(polled[i].wr_id & ~kFlushed) == 1);
    return count;
  }
  void reap(std::uint32_t number) {
    LostReceive lost;
    if (!recover_receive(segment_, receives_, completions_, sender(number), lost)) return;
    Completion completion;
    completion.wr_id = lost.wr_id | kFlushed;
    if (lost.claimed != nullptr) {
      publish_for_the_dead(segment_, completions_, *lost.claimed, {1, false}, completion);
    } else {
      REQUIRE(push_completion(segment_, completions_, {1, false}, completion, nullptr) ==
              Push::kDone);
    }
  }
  /// With all senders dead and reaped: whatever was taken has completed, the rest is still posted,
  /// and both rings go round.
  void check_whole() {
    while (poll() != 0) {
    }
    Receive receive;
    while (withdraw_receive(segment_, receives_, 1, receive)) {
      REQUIRE(outstanding_.erase(receive.wr_id) == 1);
    }
    REQUIRE(outstanding_.empty());
    for (std::uint32_t i = 0; i < 2 * kSlots; ++i) {
      post_until_full();
      REQUIRE(outstanding_.size() == kSlots);
      REQUIRE(send(i % kSenders));
      REQUIRE(poll() == 1);
    }
  }

 private:
  OwnSegment own_;
  ControlSegment& segment_ = own_.shared();
  RingLease receive_ring_{own_, kSlots, receive_slot_size(1)};
  RingLease completion_ring_{own_, kSlotsPerEntry* kSlots, sizeof(CompletionSlot)};
  ReceiveQueueView receives_{segment_.receive_queues[0], receive_ring_.place(), 1, 0, false};
  CompletionQueueView completions_{segment_.completion_queues[0],
                                   0,
                                   completion_ring_.place(),
                                   granted_completions(completion_ring_.place()),
                                   {-1, 0}};
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, int> outstanding_;
};

pid_t fork_process(const std::function<void()>& body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::alarm(60);
  body();
  ::_exit(0);
}

void kill_and_reap(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

/// Memory that parent and children see.
struct Marks {
  std::atomic<bool> begun;
  std::atomic<bool> ended;
};

struct Unmap {
  void operator()(Marks* marks) const { ::munmap(marks, sizeof *marks); }
};

std::unique_ptr<Marks, Unmap> shared_marks() {
  void* page =
      ::mmap(nullptr, sizeof(Marks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  support::require(page != MAP_FAILED, "no shared page");
  return std::unique_ptr<Marks, Unmap>(new (page) Marks{});
}

/// Runs one send in a process of its own, for `limit` instructions; then kills it. Returns how many
/// it did, or -1 if processes may not be traced here.
long send_and_die(SharedReceives& scene, Marks& marks, long limit) {
  marks.begun = marks.ended = false;
  const pid_t pid = fork_process([&] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(2);
    ::raise(SIGSTOP);
    marks.begun = true;
    scene.send(0);
    marks.ended = true;
    ::pause();
  });
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!WIFSTOPPED(status)) return -1;
  long steps = 0;
  while (steps < limit && !marks.ended) {
    if (::ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr) != 0) break;
    ::waitpid(pid, &status, 0);
    steps += marks.begun;
  }
  kill_and_reap(pid);
  return steps;
}

}  // namespace

TEST_CASE("shm_rings_survive_senders_that_are_killed_at_random") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  SharedReceives scene;
  const int rounds = support::rounds(150);
  for (int round = 0; round < rounds; ++round) {
    std::vector<pid_t> pids;
    for (std::uint32_t i = 0; i < kSenders; ++i) {
      pids.push_back(fork_process([&scene, i] {
        for (;;) scene.send(i);
      }));
    }
    for (std::uint32_t i = 0; i < kSenders; ++i) {
      for (std::size_t polls = random.size_up_to(4000); polls != 0; --polls) {
        scene.post_until_full();
        scene.poll();
      }
      kill_and_reap(pids[i]);
      scene.reap(i);
    }
    scene.check_whole();
  }
}

TEST_CASE("shm_rings_survive_a_sender_that_is_killed_after_any_instruction") {
  const long deaths = support::rounds(400);
  SharedReceives scene;
  const auto marks = shared_marks();
  scene.post_until_full();
  const long all = send_and_die(scene, *marks, 100'000);
  if (all < 0) {
    std::printf("SKIPPED: processes may not be traced here (ptrace)\n");
    return;
  }
  scene.reap(0);
  scene.check_whole();
  const long stride = 1 + all / deaths;
  CAPTURE(all, stride);
  for (long step = 0; step <= all; step += stride) {
    CAPTURE(step);
    scene.post_until_full();
    send_and_die(scene, *marks, step);
    scene.reap(0);
    scene.check_whole();
  }
}
