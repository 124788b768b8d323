// SPDX-License-Identifier: MIT
// Helper: the loop that polls for others.
#include "helpers/helper.hpp"

#include <utility>

#include "dtutils/wait.hpp"
#include "dtutils/wait_hook.hpp"

namespace riutils {

void Delegation::Work::keep(std::exception_ptr exception) noexcept {
  if (failed.load(std::memory_order_acquire)) return;
  thrown = std::move(exception);
  // Release: pairs with rethrow, which then owns the exception.
  failed.store(true, std::memory_order_release);
}

bool Delegation::Work::rethrow(void* given) {
  auto& work = *static_cast<Work*>(given);
  if (!work.failed.load(std::memory_order_acquire)) return false;
  std::exception_ptr exception = std::exchange(work.thrown, nullptr);
  // Release: pairs with keep, which may put down the next one.
  work.failed.store(false, std::memory_order_release);
  std::rethrow_exception(std::move(exception));
}

HelperThreads::Helper::Helper(dsfabric::Fabric& fabric, const FiberOptions& fibers)
    : fabric_(fabric) {
  Start start;
  thread_ = dtutils::JoinableThread([&] { live(fibers, start); });
  dtutils::Backoff backoff;
  // Acquire: pairs with live.
  while (!start.over.load(std::memory_order_acquire)) backoff.pause();
  if (start.failed) {
    thread_.join();
    std::rethrow_exception(start.failed);
  }
}

HelperThreads::Helper::~Helper() {
  stop_.store(true, std::memory_order_release);
  thread_.join();
}

void HelperThreads::Helper::add(Delegation::Work& work) {
  const std::scoped_lock lock(mutex_);
  wanted_.push_back(&work);
  // Release: pairs with sweep, though the lock orders the list itself.
  version_.fetch_add(1, std::memory_order_release);
}

void HelperThreads::Helper::remove(Delegation::Work& work, dsfabric::Thread& self) {
  std::uint64_t version = 0;
  {
    const std::scoped_lock lock(mutex_);
    std::erase(wanted_, &work);
    version = version_.fetch_add(1, std::memory_order_release) + 1;
  }
  dtutils::Backoff backoff;
  // Acquire: pairs with sweep, so that the worker sees what the helper did to its receiver.
  while (seen_.load(std::memory_order_acquire) < version) {
    bool busy = false;
    try {
      busy = self.progress();
    } catch (...) {
      // It has no upcall, and a destructor has nobody to throw to.
    }
    busy ? backoff.reset() : backoff.pause();
  }
}

std::size_t HelperThreads::Helper::load() const {
  const std::scoped_lock lock(mutex_);
  return wanted_.size();
}

void HelperThreads::Helper::live(const FiberOptions& options, Start& start) {
  // A handler that waits here without a fiber takes messages in, at least.
  const dtutils::ScopedWaitHook hook(
      {[](void* fabric, const dtutils::Synchronizer&, dtutils::WaitEnd) {
         return static_cast<dsfabric::Fabric*>(fabric)->progress();
       },
       &fabric_});
  std::unique_ptr<FiberPool> pool;
  try {
    pool = std::make_unique<FiberPool>(fabric_, options);
  } catch (...) {
    start.failed = std::current_exception();
  }
  // Release: pairs with the constructor, which then takes `start` away.
  start.over.store(true, std::memory_order_release);
  if (pool == nullptr) return;
  dtutils::Backoff backoff;
  while (!stop_.load(std::memory_order_acquire)) {
    sweep(*pool) ? backoff.reset() : backoff.pause();
  }
}

bool HelperThreads::Helper::sweep(FiberPool& pool) noexcept {
  if (const auto version = version_.load(std::memory_order_acquire);
      version != seen_.load(std::memory_order_relaxed)) {
    const std::scoped_lock lock(mutex_);
    works_ = wanted_;
    // Release: pairs with remove. The version under the lock belongs to this list.
    seen_.store(version_.load(std::memory_order_relaxed), std::memory_order_release);
  }
  bool busy = false;
  for (Delegation::Work* const work : works_) {
    try {
      busy = work->receiver.poll() || busy;
    } catch (...) {
      work->keep(std::current_exception());
    }
  }
  try {
    busy = pool.progress() || busy;
  } catch (...) {
    // Whose call it was is not known any more; with an upcall it would have been.
    if (!works_.empty()) works_.front()->keep(std::current_exception());
  }
  return busy;
}

}  // namespace riutils
