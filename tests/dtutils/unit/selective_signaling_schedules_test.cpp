// SPDX-License-Identifier: MIT
// Random schedules of many threads, stepped by hand, with stops: larger than a model checker can
// do.
#include <deque>
#include <vector>

#include "dtutils/selective_signaling.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using dtutils::RetireTag;
using dtutils::SelectiveSignaling;
using dtutils::SignalingParameters;
using support::Random;
using Admission = SelectiveSignaling::Admission;

namespace {

struct Request {
  std::uint64_t ticket;
  bool signaled;
  std::size_t memory;
};

struct Thread {
  enum class At { kIdle, kTicket, kJudged, kPosted, kPolled, kStopped };
  At at = At::kIdle;
  /// Where it goes on after retiring the ticket that it polled.
  At after_poll = At::kIdle;
  std::uint64_t ticket = 0;
  std::uint64_t polled = 0;
  bool signaled = false;
};

/// Threads, one queue pair, and the memory of all posts: true once its request is done.
class Schedule {
 public:
  Schedule(const SignalingParameters& parameters, std::uint64_t seed)
      : parameters_(parameters),
        signaling_(parameters),
        random_(seed),
        threads_(parameters.sharing_threads) {}

  /// One step of a thread. False when it can do nothing: it waits, and there is no completion.
  bool step(Thread& thread) {
    switch (thread.at) {
      case Thread::At::kIdle:
        if (random_.one_in(4) && poll(thread)) return true;
        thread.ticket = signaling_.take();
        thread.at = Thread::At::kTicket;
        return true;
      case Thread::At::kTicket:
        return admit(thread);
      case Thread::At::kJudged:
        post(thread);
        return true;
      case Thread::At::kPosted:
        tags_.push_back({signaling_.tag(), thread.ticket});
        thread.at = Thread::At::kIdle;
        return true;
      case Thread::At::kPolled:
        signaling_.retire(thread.polled);
        thread.at = thread.after_poll;
        return true;
      case Thread::At::kStopped:
        return false;
    }
    return false;
  }

  bool admit(Thread& thread) {
    thread.signaled = signaling_.signals_regularly(thread.ticket);
    thread.at = Thread::At::kJudged;
    if (signaling_.below_signal_threshold(thread.ticket)) return true;
    if (random_.one_in(2) && poll(thread)) return true;
    const Admission admission = signaling_.admit(thread.ticket);
    thread.signaled = admission == Admission::kSignaled;
    if (admission != Admission::kWait) return true;
    thread.at = Thread::At::kTicket;
    return poll(thread);
  }

  void post(Thread& thread) {
    done_.resize(std::max<std::size_t>(done_.size(), thread.ticket + 1));
    queue_.push_back({thread.ticket, thread.signaled, thread.ticket});
    max_outstanding = std::max(max_outstanding, queue_.size());
    ++posts;
    thread.at = Thread::At::kPosted;
  }

  /// Takes a completion, unless there is none. The device is as late as it can be.
  bool poll(Thread& thread) {
    const auto signaled = std::ranges::find_if(queue_, &Request::signaled);
    if (signaled == queue_.end()) return false;
    thread.polled = signaled->ticket;
    for (auto one = queue_.begin(); one <= signaled; ++one) done_[one->memory] = true;
    queue_.erase(queue_.begin(), signaled + 1);
    thread.after_poll = thread.at == Thread::At::kJudged ? Thread::At::kTicket : thread.at;
    thread.at = Thread::At::kPolled;
    return true;
  }

  /// Memory of posts whose tag is done although the device is not.
  std::size_t early_tags() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        tags_, [this](const Tagged& one) { return one.tag.done() && !done_[one.memory]; }));
  }

  /// Random steps; a thread in `one_in` stops for good at some point, but never the last one.
  void run(int steps, std::size_t one_in) {
    std::size_t live = threads_.size();
    for (int i = 0; i < steps; ++i) {
      Thread& thread = threads_[random_.below(threads_.size())];
      // Bursts of one thread let the others fall far behind.
      for (std::size_t burst = random_.size_up_to(40); burst > 0; --burst) {
        if (thread.at != Thread::At::kStopped && live > 1 && random_.one_in(one_in)) {
          thread.at = Thread::At::kStopped;
          --live;
        }
        step(thread);
      }
    }
  }

  /// Every live thread posts once more, alone: false when one cannot.
  bool nobody_is_blocked() {
    for (Thread& thread : threads_) {
      if (thread.at == Thread::At::kStopped) continue;
      const std::uint64_t before = posts;
      for (std::uint32_t i = 0; posts == before; ++i) {
        if (i > 10 * parameters_.needed_send_depth()) return false;
        step(thread);
      }
    }
    return true;
  }

  std::size_t max_outstanding = 0;
  std::uint64_t posts = 0;

 private:
  struct Tagged {
    RetireTag tag;
    std::size_t memory;
  };

  SignalingParameters parameters_;
  SelectiveSignaling signaling_;
  Random random_;
  std::vector<Thread> threads_;
  std::deque<Request> queue_;
  std::vector<bool> done_;
  std::vector<Tagged> tags_;
};

}  // namespace

TEST_CASE("random_schedules_never_overflow_reuse_early_or_block") {
  const std::uint64_t seed = support::test_seed();
  INFO("CARIAMA_TEST_SEED=" << seed);
  Random random(seed);
  for (int round = 0; round < 300; ++round) {
    SignalingParameters parameters;
    parameters.sharing_threads = static_cast<std::uint32_t>(1 + random.below(8));
    parameters.signal_interval = 1u << random.below(5);
    parameters.signal_all_from = static_cast<std::uint32_t>(1 + random.below(20));
    parameters.window = parameters.signal_all_from + 2 * parameters.sharing_threads - 1 +
                        static_cast<std::uint32_t>(random.below(10));
    parameters.check(parameters.needed_send_depth(), parameters.needed_completion_depth());
    INFO("n=" << parameters.sharing_threads << " k=" << parameters.signal_interval
              << " T=" << parameters.signal_all_from << " W=" << parameters.window);

    Schedule schedule(parameters, random.below(1u << 30));
    schedule.run(400, 300);
    CHECK(schedule.posts > 20);
    CHECK(schedule.max_outstanding <= parameters.needed_send_depth());
    CHECK(schedule.early_tags() == 0);
    CHECK(schedule.nobody_is_blocked());
  }
}
