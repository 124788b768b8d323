// SPDX-License-Identifier: MIT
// Members: sites and ranks.
#include "job/members.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dsfabric {

Members::Members(ProcessId self, std::vector<Member> all, std::uint32_t machines)
    : self_(self), machines_(machines) {
  all_.reserve(all.size());
  for (Member& member : all) {
    const auto workers = static_cast<std::uint32_t>(member.site.worker_zones.size());
    // Neighbours are mostly alike.
    const auto known = std::find(sites_.rbegin(), sites_.rend(), member.site);
    const auto site = static_cast<std::uint32_t>(
        known != sites_.rend() ? std::distance(known, sites_.rend()) - 1 : sites_.size());
    if (known == sites_.rend()) sites_.push_back(std::move(member.site));
    all_.push_back({member.pid, total_threads_, site});
    total_threads_ += workers;
    max_threads_ = std::max(max_threads_, workers);
  }
  threads_ = threads(self);
}

ProcessInfo Members::info(ProcessId process) const noexcept {
  const Site& there = site(process);
  return {process,     there.machine,           threads(process), there.service_threads,
          there.zones, all_[process.value].pid, there.host};
}

ThreadId Members::thread_of_rank(std::uint32_t rank) const noexcept {
  const auto after = std::upper_bound(
      all_.begin(), all_.end(), rank,
      [](std::uint32_t wanted, const Entry& entry) { return wanted < entry.first_rank; });
  const auto process = static_cast<std::uint16_t>(std::distance(all_.begin(), after) - 1);
  return {{process}, static_cast<std::uint16_t>(rank - all_[process].first_rank)};
}

}  // namespace dsfabric
