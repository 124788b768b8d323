// SPDX-License-Identifier: MIT
// Where exceptions go that callables throw and nobody waits for.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <list>
#include <mutex>

#include "dsfabric/call_context.hpp"

namespace dsfabric {

/// The upcall of a fabric. Service threads may run callables while it is set.
class Exceptions {
 public:
  using Upcall = std::function<void(const CallContext&, std::exception_ptr)>;

  /// Setup only.
  void on_exception(Upcall upcall) {
    const std::scoped_lock lock(mutex_);
    // Release: pairs with report, which then sees the function. Earlier ones stay: they may run.
    last_.store(&all_.emplace_back(std::move(upcall)), std::memory_order_release);
  }

  /// Throws it again when there is no upcall. Any thread.
  void report(const CallContext& call, std::exception_ptr thrown) {
    const Upcall* const upcall = last_.load(std::memory_order_acquire);
    if (upcall == nullptr) std::rethrow_exception(std::move(thrown));
    (*upcall)(call, std::move(thrown));
  }

 private:
  std::mutex mutex_;
  std::list<Upcall> all_;
  std::atomic<const Upcall*> last_{nullptr};
};

}  // namespace dsfabric
