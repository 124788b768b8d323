// SPDX-License-Identifier: MIT
// Door: its tables, who comes and goes, finding members.
#include "door.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"
#include "dtutils/wait.hpp"

namespace groups::detail {
namespace {

using dsfabric::ProcessId;

std::uint64_t common_digest(const GroupOptions& options) noexcept {
  dtutils::Fnv1a sum;
  sum.number(options.max_message).number(options.slots);
  sum.number(static_cast<std::uint64_t>(options.patience.count()));
  for (const ProcessId member : options.members) sum.number(member.value);
  sum.number(options.members.size());
  for (const ProcessId sender : options.senders) sum.number(sender.value);
  return sum.value();
}

std::uint64_t founders_digest(const GroupOptions& options) noexcept {
  dtutils::Fnv1a sum;
  sum.number(common_digest(options)).number(options.first_view).number(options.first_sequence);
  return sum.value();
}

void require_equal_options(const DoorTable& table, const GroupOptions& options, ProcessId self) {
  if (const std::optional<ProcessId> odd = table.odd()) {
    throw dtutils::Error(fmt::format("group {}", options.name),
                         fmt::format("process {} makes it with other options than process {}",
                                     odd->value, self.value),
                         "give the same options at all processes of the job");
  }
}

bool is_there(const dsfabric::Fabric& fabric, ProcessId process) noexcept {
  return fabric.exists({process, 0}) && fabric.state(process) == dsfabric::PeerState::kActive;
}

}  // namespace

Door::Door(sst::TableGroup& group, const GroupOptions& options)
    : group_(group),
      name_(options.name + ", door"),
      digest_(common_digest(options)),
      pairs_(group.fabric().capacity()) {
  if (is_founder(self())) {
    founders_ = std::make_unique<DoorTable>(group, sst::TableOptions{.name = name_},
                                            founders_digest(options), mine_);
    require_equal_options(*founders_, options, self());
    return;
  }
  if (self().value >= sst::kMaxMembers) {
    throw dtutils::Error(fmt::format("group {}", options.name),
                         fmt::format("this is process {} of the job", self().value),
                         fmt::format("groups take in the first {}", sst::kMaxMembers));
  }
  meet_all_that_are_there();
  for (const auto& pair : pairs_) {
    if (pair) require_equal_options(*pair, options, self());
  }
}

bool Door::is_founder(ProcessId process) const noexcept {
  return process.value < group_.fabric().founders();
}

std::size_t Door::size() const noexcept {
  return std::min<std::size_t>(group_.fabric().processes(), sst::kMaxMembers);
}

Door::Way Door::way(ProcessId process) const noexcept {
  if (founders_ && is_founder(process)) return {founders_.get(), {process.value}};
  DoorTable* const pair = process.value < pairs_.size() ? pairs_[process.value].get() : nullptr;
  if (pair == nullptr) return {nullptr, {}};
  return {pair, {static_cast<std::uint16_t>(process < self() ? 0 : 1)}};
}

sst::TableOptions Door::pair_with(ProcessId other) const {
  return {.members = {std::min(self(), other), std::max(self(), other)}, .name = name_};
}

// --- who comes and goes -----------------------------------------------------------------------

void Door::meet_all_that_are_there() {
  for (std::uint16_t i = 0; i < size(); ++i) {
    const ProcessId process{i};
    if (process == self() || !is_there(group_.fabric(), process)) continue;
    try {
      pairs_[i] = std::make_unique<DoorTable>(group_, pair_with(process), digest_, mine_);
    } catch (const dsfabric::PeerFailed&) {
      // Without it, when the fabric agrees.
      dtutils::Deadline deadline(group_.fabric().config().start_timeout);
      dtutils::Backoff backoff;
      while (is_there(group_.fabric(), process)) {
        if (deadline.passed()) throw;
        group_.fabric().progress() ? backoff.reset() : backoff.pause();
      }
    }
  }
}

void Door::answer(ProcessId newcomer, std::chrono::milliseconds limit,
                  const std::function<void()>& meanwhile) {
  const auto began = dtutils::Clock::now();
  sst::TableOptions options = pair_with(newcomer);
  options.give_up = [&] {
    meanwhile();
    return dtutils::Clock::now() - began > limit;
  };
  try {
    auto pair = std::make_unique<DoorTable>(group_, std::move(options), digest_, mine_);
    // It sees that too, and throws.
    if (!pair->odd()) pairs_[newcomer.value] = std::move(pair);
  } catch (const dsfabric::PeerFailed&) {
    // It is gone.
  } catch (const dtutils::Error& error) {
    group_.fabric().fail(newcomer, error.what());
  }
}

void Door::drop(ProcessId gone) {
  const Known known = said(gone, &DoorRow::known);
  if (known.view > newest_of_gone_.view) newest_of_gone_ = known;
  pairs_[gone.value].reset();
}

bool Door::answer_newcomers(std::chrono::milliseconds limit,
                            const std::function<void()>& meanwhile) {
  bool any = false;
  for (std::uint16_t i = 0; pairs_.size() > group_.fabric().founders() && i < size(); ++i) {
    const ProcessId process{i};
    if (pairs_[i] && gone(process)) {
      drop(process);
      any = true;
    } else if (process != self() && way(process).table == nullptr &&
               is_there(group_.fabric(), process) &&
               DoorTable::is_offered(group_, pair_with(process), process)) {
      answer(process, limit, meanwhile);
      any = true;
    }
  }
  return any;
}

// --- what is said -----------------------------------------------------------------------------

void Door::announce(const View& view) noexcept {
  mine_.known = Known{view.id, sst::MemberSet(view.members)};
  say(&DoorRow::known, mine_.known);
}

Known Door::newest() const noexcept {
  Known newest = mine_.known.view > newest_of_gone_.view ? mine_.known : newest_of_gone_;
  for (std::uint16_t i = 0; i < size(); ++i) {
    const Known known = said({i}, &DoorRow::known);
    if (known.view > newest.view) newest = known;
  }
  return newest;
}

bool Door::gone(ProcessId process) const noexcept {
  if (process == self()) return false;
  const Way to = way(process);
  return to.table == nullptr || to.table->rows().frozen(to.row);
}

std::optional<ProcessId> Door::find_donor(std::uint64_t ticket) const {
  const std::vector<ProcessId> members = newest().members.ids();
  for (const ProcessId member : members) {
    if (member == self() || gone(member)) return std::nullopt;
  }
  if (members.empty()) return std::nullopt;
  return members[members.size() - 1 - ticket % members.size()];
}

// --- lanes ------------------------------------------------------------------------------------

const std::byte* Door::lane(ProcessId donor) const noexcept {
  const Way from = way(donor);
  return from.table->lane(from.row);
}

std::uint64_t Door::lane_word(ProcessId donor) const noexcept {
  return dtutils::load_device_word(reinterpret_cast<const std::uint64_t*>(lane(donor) + kRing));
}

void Door::write(ProcessId to, std::size_t at, std::size_t bytes) noexcept {
  const Way way = this->way(to);
  if (way.table == nullptr) return;
  way.table->write(way.row, at, staging() + at, bytes, staging_.lkey());
  // There is room for the tag: one stream uses one queue pair.
  (void)group_.transmitter(to).recycle(staging_);
}

void Door::write_word(ProcessId to, std::uint64_t word) noexcept {
  if (const Way way = this->way(to); way.table != nullptr) way.table->write_word(way.row, word);
}

}  // namespace groups::detail
