// SPDX-License-Identifier: MIT
// Keeper: what other threads ask of it, and may know of the repair that is under way.
#include <chrono>
#include <utility>

#include "dtutils/device_memory.hpp"
#include "keeper.hpp"
#include "space_core.hpp"

namespace locks::detail {

void Keeper::wake() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    ++wanted_;
    ++failures_;
  }
  changed_.wake();
}

void Keeper::suspect(std::uint64_t lock) {
  const auto word = dtutils::load_device_word(reinterpret_cast<const std::uint64_t*>(lock));
  const std::chrono::nanoseconds now = core_.lease_now();
  const std::scoped_lock guard(mutex_);
  const auto [at, added] = suspicions_.try_emplace(lock, Suspicion{word, now});
  Suspicion& suspicion = at->second;
  // A clock that was set back begins the lease again.
  if (added || suspicion.word != word || now < suspicion.since) {
    suspicion = {word, now};
    return;
  }
  if (now - suspicion.since < core_.options().lease) return;
  suspicions_.clear();
  lease_over_ = true;
  ++wanted_;
  changed_.wake();
}

bool Keeper::take_wish(bool& limited) {
  const std::scoped_lock lock(mutex_);
  limited = std::exchange(lease_over_, false);
  repairs_now_ = std::exchange(wanted_, 0) != 0;
  return repairs_now_;
}

void Keeper::begin_round() {
  const std::scoped_lock lock(mutex_);
  round_ = failures_;
  freezing_ = true;
  present_.assign(core_.fabric().founders(), true);
  let_go_.assign(core_.fabric().founders(), false);
}

void Keeper::end_freezing() {
  const std::scoped_lock lock(mutex_);
  freezing_ = false;
  for (std::size_t i = 0; i < let_go_.size(); ++i) present_[i] = present_[i] && !let_go_[i];
}

bool Keeper::let_go(dsfabric::ProcessId process) {
  const std::scoped_lock lock(mutex_);
  if (freezing_) let_go_[process.value] = true;
  return freezing_;
}

bool Keeper::has_told() {
  const std::scoped_lock lock(mutex_);
  return told_ == failures_;
}

bool Keeper::idle() {
  const std::scoped_lock lock(mutex_);
  return !thread_.joinable() || (wanted_ == 0 && !repairs_now_);
}

}  // namespace locks::detail
