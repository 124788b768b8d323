// SPDX-License-Identifier: MIT
// Starting and joining threads.
#include "dtutils/joinable_thread.hpp"

#include <algorithm>
#include <utility>

namespace dtutils {

JoinableThread::JoinableThread(std::function<void()> body) {
  Scheduler* const scheduler = simulated_by();
  if (scheduler == nullptr) {
    thread_ = std::thread(std::move(body));
    return;
  }
  number_ = scheduler->announce();
  try {
    thread_ = std::thread([scheduler, number = *number_, body = std::move(body)] {
      scheduler->begin(number);
      body();
      scheduler->end(number);
    });
  } catch (...) {
    scheduler->withdraw(*number_);
    throw;
  }
}

void JoinableThread::join() {
  Scheduler* const scheduler = simulated_by();
  if (scheduler != nullptr && number_) scheduler->wait_for_end(*number_);
  thread_.join();
}

unsigned cores() noexcept {
  const Scheduler* const scheduler = simulated_by();
  return scheduler != nullptr ? scheduler->cores()
                              : std::max(std::thread::hardware_concurrency(), 1u);
}

}  // namespace dtutils
