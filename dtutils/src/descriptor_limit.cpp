// SPDX-License-Identifier: MIT
// The soft limit becomes the hard one.
#include "dtutils/descriptor_limit.hpp"

#include <sys/resource.h>

namespace dtutils {

std::size_t raise_descriptor_limit() noexcept {
  // For a kernel that does not tell; every one does.
  rlimit limit{.rlim_cur = 1024, .rlim_max = 1024};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

}  // namespace dtutils
