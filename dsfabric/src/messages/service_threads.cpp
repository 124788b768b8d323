// SPDX-License-Identifier: MIT
// ServiceThreads: serve while there is work, sleep on the completion channel when there is none.
#include "messages/service_threads.hpp"

#include <poll.h>

#include <exception>
#include <mutex>

#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/wait.hpp"

namespace dsfabric {
namespace {

/// Idle rounds before a service thread sleeps. It does not yield: where others compute it would
/// come back a time slice later, while whoever sleeps is woken by the next message.
constexpr unsigned kIdleRounds = dtutils::kSpinPolls;
/// Longest sleep: a lost wake-up would cost this much, no more.
constexpr std::chrono::milliseconds kLongestSleep{500};

}  // namespace

ServiceThreads::ServiceThreads(std::uint32_t count, ThreadRegistry& threads,
                               ReceiveQueue& receive_queue, ServiceSleep& service_sleep,
                               MessageEngine& messages, OwnFailure& own_failure)
    : registry_(threads),
      receive_queue_(receive_queue),
      service_sleep_(service_sleep),
      messages_(messages),
      own_failure_(own_failure) {
  for (std::uint32_t i = 0; i < count; ++i) {
    threads_.emplace_back([this, i] { serve(i); });
  }
}

ServiceThreads::~ServiceThreads() {
  stop_.store(true, std::memory_order_release);
  service_sleep_.wake_always();
  for (dtutils::JoinableThread& thread : threads_) {
    thread.join();
  }
}

void ServiceThreads::serve(std::uint32_t index) {
  ThreadContext& context = registry_.service(index);
  registry_.bind(&context);
  dtutils::ask_for_short_slices();
  dtutils::Backoff backoff;
  unsigned idle = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    try {
      if (messages_.progress(context)) {
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
      own_failure_.declare(std::string("a service handler threw: ") + error.what());
    }
  }
}

void ServiceThreads::sleep(ThreadContext& context) {
  const std::scoped_lock one_at_a_time(sleeping_);
  const dtutils::detail::ScopeExit awake([&]() noexcept { service_sleep_.get_up(); });
  // Whoever puts a message down after our last look below sees that we sleep.
  service_sleep_.lie_down();
  if (!receive_queue_.completions.arm(true) || !messages_.nothing_to_serve(context) ||
      stop_.load(std::memory_order_acquire)) {
    return;
  }
  pollfd fds[] = {{receive_queue_.channel.fd(), POLLIN, 0}, {service_sleep_.fd(), POLLIN, 0}};
  dtutils::wait_for_events(fds, kLongestSleep);
  if (fds[0].revents != 0) {
    receive_queue_.channel.wait(std::chrono::milliseconds(0));
  }
  if (fds[1].revents != 0 && !stop_.load(std::memory_order_acquire)) {
    service_sleep_.clear();
  }
}

}  // namespace dsfabric
