// SPDX-License-Identifier: MIT
// An entry that is held for a scope.
#pragma once

#include <cstdint>

#include "local_cache.hpp"
#include "node.hpp"

namespace caching::detail {

/// Lets an entry, or none, go at the end of its scope, unless somebody else holds it then.
class Node::Held {
 public:
  Held(LocalCache& local, std::uint32_t entry) noexcept : local_(local), entry_(entry) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (entry_ != kNoEntry) local_.unpin(entry_);
  }
  void release() noexcept { entry_ = kNoEntry; }

 private:
  LocalCache& local_;
  std::uint32_t entry_;
};

}  // namespace caching::detail
