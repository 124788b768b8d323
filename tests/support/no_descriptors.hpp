// SPDX-License-Identifier: MIT
// A process that can open nothing more.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include "support/require.hpp"

namespace support {

/// As long as it is there, its process can open nothing more.
class NoDescriptors {
 public:
  NoDescriptors() {
    require(getrlimit(RLIMIT_NOFILE, &before_) == 0, "the limit is known");
    const int next = dup(0);
    require(next >= 0 && close(next) == 0, "the next descriptor is known");
    const rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    require(setrlimit(RLIMIT_NOFILE, &none) == 0, "the limit is set");
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace support
