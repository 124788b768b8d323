// SPDX-License-Identifier: MIT
// LatePeers and Doubts: lists under a lock, and flags beside them.
#include "late_peers.hpp"

#include <algorithm>
#include <utility>

namespace caching::detail {

void LatePeers::set(std::uint16_t process, bool late) {
  if (is_late(process) == late) return;
  ++version_;
  // Release: pairs with is_late().
  late_[process].store(late ? 1 : 0, std::memory_order_release);
}

bool LatePeers::any() const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(late_, [](const auto& each) { return each.load() != 0; });
}

void LatePeers::timed_out(std::uint16_t process, std::unique_ptr<Slot> slot) {
  const std::scoped_lock lock(mutex_);
  if (slot) all_[process].pending.push_back(std::move(slot));
  all_[process].missed = true;
  all_[process].answers = all_[process].asked = false;
  set(process, true);
}

bool LatePeers::misses(std::uint16_t process) {
  if (!is_late(process)) return false;
  const std::scoped_lock lock(mutex_);
  if (!is_late(process) || all_[process].asked) return false;
  all_[process].missed = true;
  return true;
}

bool LatePeers::list(InvalidateRequest& request) const {
  const std::scoped_lock lock(mutex_);
  request.late_version = version_;
  request.lates = 0;
  for (std::uint16_t process = 0; process < late_.size(); ++process) {
    if (!is_late(process)) continue;
    if (request.lates == request.late.size()) return false;
    request.late[request.lates++] = process;
  }
  return true;
}

std::uint64_t LatePeers::version() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

LatePeers::Next LatePeers::look(std::uint16_t process) {
  const std::scoped_lock lock(mutex_);
  if (!is_late(process)) return Next::kNothing;
  One& one = all_[process];
  const auto done = std::erase_if(one.pending, [](const auto& slot) { return slot->done(); });
  if (!one.pending.empty()) return Next::kNothing;
  one.answers = one.answers || done != 0;
  if (std::exchange(one.missed, false)) {
    // What it is asked now comes after all that it has missed. Since it answers, it is asked all
    // that follows, and so misses nothing more.
    one.asked = one.answers;
    return Next::kAskToForget;
  }
  one.asked = false;
  set(process, false);
  return Next::kOver;
}

void LatePeers::asked(std::uint16_t process, std::unique_ptr<Slot> slot) {
  const std::scoped_lock lock(mutex_);
  if (slot) {
    all_[process].pending.push_back(std::move(slot));
  } else {
    all_[process].missed = true;
    all_[process].asked = false;
  }
}

void LatePeers::forget(std::uint16_t process) {
  const std::scoped_lock lock(mutex_);
  all_[process] = {};
  set(process, false);
}

void Doubts::take(std::uint16_t source, std::uint64_t version,
                  std::span<const std::uint16_t> late) {
  if (source >= said_.size()) return;
  const std::scoped_lock lock(mutex_);
  Said& said = said_[source];
  if (version <= said.version) return;
  said.version = version;
  std::vector<std::uint16_t> now(late.begin(), late.end());
  std::erase_if(now, [&](std::uint16_t each) { return each >= count_.size(); });
  for (const std::uint16_t each : now) count_[each].fetch_add(1, std::memory_order_release);
  for (const std::uint16_t each : said.late) count_[each].fetch_sub(1, std::memory_order_release);
  said.late = std::move(now);
}

}  // namespace caching::detail
