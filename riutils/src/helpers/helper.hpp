// SPDX-License-Identifier: MIT
// One helper thread: the receivers that it polls, and how it takes them up and lets them go.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "dtutils/joinable_thread.hpp"
#include "riutils/detail/ring_receiver.hpp"
#include "riutils/helper_threads.hpp"

namespace riutils {

/// What a worker hands over: its receiver, and the way back for exceptions.
struct Delegation::Work {
  explicit Work(detail::RingReceiver& its_receiver) noexcept : receiver(its_receiver) {}

  /// By the helper; the first one is kept.
  void keep(std::exception_ptr thrown) noexcept;
  /// A ProgressHook of the worker: throws what was kept, once.
  static bool rethrow(void* work);

  detail::RingReceiver& receiver;
  std::atomic<bool> failed{false};
  std::exception_ptr thrown;
};

/// The list changes under the lock, with a new version; the helper copies it between two sweeps,
/// and says which version it has. So a sweep takes no lock.
class HelperThreads::Helper {
 public:
  Helper(dsfabric::Fabric& fabric, const FiberOptions& fibers);
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper();

  /// Any thread.
  void add(Delegation::Work& work);
  /// Returns when the helper does not touch it any more. The thread of `self`, which serves.
  void remove(Delegation::Work& work, dsfabric::Thread& self);
  std::size_t load() const;

 private:
  /// How the beginning of the thread has gone.
  struct Start {
    std::atomic<bool> over{false};
    std::exception_ptr failed;
  };

  void live(const FiberOptions& fibers, Start& start);
  bool sweep(FiberPool& pool) noexcept;

  dsfabric::Fabric& fabric_;
  mutable std::mutex mutex_;
  std::vector<Delegation::Work*> wanted_;
  std::vector<Delegation::Work*> works_;
  std::atomic<std::uint64_t> version_{0};
  std::atomic<std::uint64_t> seen_{0};
  std::atomic<bool> stop_{false};
  dtutils::JoinableThread thread_;
};

}  // namespace riutils
