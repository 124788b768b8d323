// SPDX-License-Identifier: MIT
// Members: ranks.
#include "job/members.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dsfabric {

Members::Members(ProcessId self, std::vector<Member> all, std::uint32_t machines) noexcept
    : self_(self),
      all_(std::move(all)),
      count_(static_cast<std::uint32_t>(all_.size())),
      machines_(machines) {
  for (Member& member : all_) {
    member.first_rank = total_threads_;
    total_threads_ += member.info.threads;
    max_threads_ = std::max(max_threads_, member.info.threads);
  }
  threads_ = all_[self.value].info.threads;
}

ThreadId Members::thread_of_rank(std::uint32_t rank) const noexcept {
  const auto after = std::upper_bound(
      all_.begin(), all_.end(), rank,
      [](std::uint32_t wanted, const Member& member) { return wanted < member.first_rank; });
  const Member& member = *std::prev(after);
  return {member.info.id, static_cast<std::uint16_t>(rank - member.first_rank)};
}

}  // namespace dsfabric
