// SPDX-License-Identifier: MIT
// Members: sites and ranks.
#include "job/members.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dsfabric {

Members::Members(ProcessId self, std::vector<Member> founders, std::uint32_t machines,
                 std::uint32_t capacity)
    : self_(self),
      founders_(static_cast<std::uint32_t>(founders.size())),
      capacity_(capacity),
      all_(std::make_unique<Entry[]>(capacity)),
      machines_(machines) {
  for (std::uint16_t i = 0; i < founders_; ++i) {
    const auto workers = static_cast<std::uint32_t>(founders[i].site.worker_zones.size());
    all_[i].first_rank = total_threads_;
    put({i}, std::move(founders[i]));
    total_threads_ += workers;
    max_threads_ = std::max(max_threads_, workers);
  }
  if (capacity_ > founders_) {
    // One for each newcomer, and one for those that have not come.
    const auto nobody = static_cast<std::uint32_t>(sites_.size());
    sites_.reserve(nobody + 1 + capacity_ - founders_);
    sites_.emplace_back();
    for (std::uint32_t i = founders_; i < capacity_; ++i) {
      all_[i].first_rank = total_threads_ + (i - founders_) * max_threads_;
      all_[i].site.store(nobody, std::memory_order_relaxed);
    }
  }
  first_site_ = sites_.data();
  count_.store(founders_, std::memory_order_release);
}

void Members::put(ProcessId process, Member member) {
  // Neighbours are mostly alike.
  const auto known = std::find(sites_.rbegin(), sites_.rend(), member.site);
  const auto site = static_cast<std::uint32_t>(
      known != sites_.rend() ? std::distance(known, sites_.rend()) - 1 : sites_.size());
  if (known == sites_.rend()) sites_.push_back(std::move(member.site));
  all_[process.value].pid.store(member.pid, std::memory_order_relaxed);
  // Release: pairs with site().
  all_[process.value].site.store(site, std::memory_order_release);
}

void Members::add(ProcessId process, Member newcomer) {
  const std::uint32_t machines = newcomer.site.machine.value + 1u;
  put(process, std::move(newcomer));
  if (machines > this->machines()) machines_.store(machines, std::memory_order_relaxed);
  // Release: pairs with count().
  if (process.value >= count()) count_.store(process.value + 1u, std::memory_order_release);
}

ProcessInfo Members::info(ProcessId process) const noexcept {
  const Site& there = site(process);
  return {process,          there.machine,
          threads(process), there.service_threads,
          there.zones,      all_[process.value].pid.load(std::memory_order_relaxed),
          there.host};
}

ThreadId Members::thread_of_rank(std::uint32_t rank) const noexcept {
  const Entry* const begin = all_.get();
  const Entry* const after = std::upper_bound(
      begin, begin + capacity_, rank,
      [](std::uint32_t wanted, const Entry& entry) { return wanted < entry.first_rank; });
  const auto process = static_cast<std::uint16_t>(std::distance(begin, after) - 1);
  return {{process}, static_cast<std::uint16_t>(rank - all_[process].first_rank)};
}

}  // namespace dsfabric
