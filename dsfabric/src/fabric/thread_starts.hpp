// SPDX-License-Identifier: MIT
// What layers above do on each worker before its work begins.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace dsfabric {

class Thread;

/// Any thread (takes a lock).
class ThreadStarts {
 public:
  using Start = std::function<void(Thread&)>;

  void add(Start start) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(std::move(start));
  }
  /// In the order of add().
  void run(Thread& worker) const {
    // Not under the lock: they may add others, or wait.
    const auto all = [this] {
      const std::scoped_lock lock(mutex_);
      return all_;
    }();
    for (const Start& start : all) start(worker);
  }
  /// Before what they point to goes.
  void clear() noexcept {
    const std::scoped_lock lock(mutex_);
    all_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Start> all_;
};

}  // namespace dsfabric
