// SPDX-License-Identifier: MIT
// RendezvousThread: its loop.
#include "bootstrap/rendezvous_thread.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "dtutils/wait.hpp"

namespace dsfabric::rendezvous {

RendezvousThread::RendezvousThread(std::uint32_t processes, const std::string& secret,
                                   const std::string& address)
    : server_(std::in_place, processes, secret, address, std::uint16_t{0}),
      port_(server_->port()),
      thread_([this] { run(); }) {}

RendezvousThread::~RendezvousThread() {
  stop_.store(true);
  wake_.wake();
  thread_.join();
}

void RendezvousThread::tell_of_end(std::uint32_t rank) {
  {
    const std::scoped_lock lock(mutex_);
    ended_.push_back(rank);
  }
  wake_.wake();
}

void RendezvousThread::wait_for_all() noexcept { all_gone_.wait(false); }

void RendezvousThread::run() {
  dtutils::ask_for_short_slices();
  try {
    while (!stop_.load()) {
      turn();
      if (server_->all_gone()) tell_all_gone();
    }
  } catch (const std::exception&) {
    // No memory is left. Processes that are connected go on.
  }
  server_.reset();
  tell_all_gone();
}

void RendezvousThread::tell_all_gone() noexcept {
  if (!all_gone_.exchange(true)) all_gone_.notify_all();
}

void RendezvousThread::turn() {
  std::vector<pollfd> watched{{wake_.fd(), POLLIN, 0}};
  server_->watch(watched);
  int wait = -1;
  if (const auto next = server_->next_deadline()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*next - std::chrono::steady_clock::now());
    wait = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
  }
  poll(watched.data(), watched.size(), wait);
  wake_.clear();
  server_->handle(watched);
  std::vector<std::uint32_t> ended;
  {
    const std::scoped_lock lock(mutex_);
    ended = std::exchange(ended_, {});
  }
  for (const std::uint32_t rank : ended) server_->process_ended(rank, false);
}

}  // namespace dsfabric::rendezvous
