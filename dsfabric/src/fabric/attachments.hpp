// SPDX-License-Identifier: MIT
// What layers above keep for the life of a fabric, found by a key.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace dsfabric {

/// Any thread (takes a lock).
class Attachments {
 public:
  std::shared_ptr<void> find_or_make(const void* key,
                                     const std::function<std::shared_ptr<void>()>& make) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<void>& found = all_[key];
    if (found == nullptr) found = make();
    return found;
  }
  void clear() noexcept {
    const std::scoped_lock lock(mutex_);
    all_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<void>> all_;
};

}  // namespace dsfabric
