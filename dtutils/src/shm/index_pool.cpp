// SPDX-License-Identifier: MIT
// The order in which indices come back.
#include "shm/index_pool.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "dtutils/error.hpp"

namespace dtutils::shm {

std::uint32_t IndexPool::take() {
  // Fresh indices first: a used one rests until all others have been used.
  if (used_ < bound_) return used_++;
  if (free_.empty()) {
    throw Error("shm", fmt::format("all {} {} are in use", bound_, what_),
                "destroy some, or share them", ENOMEM);
  }
  const std::uint32_t index = free_.front();
  free_.pop_front();
  return index;
}

}  // namespace dtutils::shm
