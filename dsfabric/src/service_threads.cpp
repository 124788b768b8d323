// SPDX-License-Identifier: MIT
// ServiceThreads: serve while there is work, sleep on the completion channel when there is none.
#include "service_threads.hpp"

#include <poll.h>

#include <exception>

#include "collectives.hpp"
#include "core.hpp"
#include "dtutils/wait.hpp"

namespace dsfabric {
namespace {

/// Idle rounds before a service thread sleeps: some spinning, a few yields.
constexpr unsigned kIdleRounds = dtutils::kSpinPolls + 16;
/// Longest sleep: a lost wake-up would cost this much, no more.
constexpr int kSleepMilliseconds = 500;

}  // namespace

ServiceThreads::ServiceThreads(Core& core, std::uint32_t count) : core_(core) {
  for (std::uint32_t i = 0; i < count; ++i) {
    threads_.emplace_back([this, i] { serve(i); });
  }
}

ServiceThreads::~ServiceThreads() {
  stop_.store(true, std::memory_order_release);
  wake_.wake();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ServiceThreads::serve(std::uint32_t index) {
  ThreadContext& context = core_.thread_registry().service(index);
  core_.thread_registry().bind(&context);
  dtutils::Backoff backoff;
  unsigned idle = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    try {
      if (core_.progress(context)) {
        idle = 0;
        backoff.reset();
      } else if (++idle < kIdleRounds) {
        backoff.pause();
      } else {
        sleep(context);
        idle = 0;
        backoff.reset();
      }
    } catch (const std::exception& error) {
      core_.collectives().abort(std::string("a service handler threw: ") + error.what());
    }
  }
}

void ServiceThreads::sleep(ThreadContext& context) {
  const std::scoped_lock one_at_a_time(sleeping_);
  const struct Awake {
    std::atomic<bool>& asleep;
    ~Awake() { asleep.store(false, std::memory_order_relaxed); }
  } awake{asleep_};
  // Sequentially consistent: pairs with wake. Whoever puts a message down after our last look below
  // sees that we sleep.
  asleep_.store(true, std::memory_order_seq_cst);
  Receiver& receiver = core_.receiver();
  if (!receiver.completions().arm(true) || !core_.nothing_to_serve(context) ||
      stop_.load(std::memory_order_acquire)) {
    return;
  }
  pollfd fds[] = {{receiver.channel().fd(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
  poll(fds, 2, kSleepMilliseconds);
  if (fds[0].revents != 0) {
    receiver.channel().wait(std::chrono::milliseconds(0));
  }
  if (fds[1].revents != 0 && !stop_.load(std::memory_order_acquire)) {
    wake_.clear();
  }
}

}  // namespace dsfabric
