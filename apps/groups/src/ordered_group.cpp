// SPDX-License-Identifier: MIT
// OrderedGroup: hands everything to GroupCore.
#include "groups/ordered_group.hpp"

#include <utility>

#include "group_core.hpp"

namespace groups {

const char* to_string(GroupState state) noexcept {
  switch (state) {
    case GroupState::kOutside:
      return "outside";
    case GroupState::kJoining:
      return "joining";
    case GroupState::kWorking:
      return "working";
    case GroupState::kChanging:
      return "changing view";
    case GroupState::kMajorityLost:
      return "majority lost";
    case GroupState::kRemoved:
      return "removed";
  }
  return "unknown";
}

OrderedGroup::OrderedGroup(sst::TableGroup& tables, const GroupOptions& options,
                           GroupUpcalls upcalls)
    : core_(std::make_unique<detail::GroupCore>(tables, options, std::move(upcalls))) {}
OrderedGroup::~OrderedGroup() = default;

Reservation OrderedGroup::try_reserve(std::uint32_t bytes) noexcept {
  return core_->try_reserve(bytes);
}
bool OrderedGroup::commit() noexcept { return core_->commit(); }
bool OrderedGroup::flush() noexcept { return core_->flush(); }
bool OrderedGroup::progress() { return core_->progress(); }
void OrderedGroup::join() noexcept { core_->join(); }
void OrderedGroup::leave() noexcept { core_->leave(); }
GroupState OrderedGroup::state() const noexcept { return core_->state(); }
const View& OrderedGroup::view() const noexcept { return core_->view(); }
std::uint64_t OrderedGroup::next_sequence() const noexcept { return core_->next_sequence(); }
std::uint64_t OrderedGroup::undelivered() const noexcept { return core_->undelivered(); }
std::uint32_t OrderedGroup::max_message() const noexcept { return core_->max_message(); }
dsfabric::ProcessId OrderedGroup::process() const noexcept { return core_->process(); }
std::uint64_t OrderedGroup::begin_read() noexcept { return core_->begin_read(); }
std::uint64_t OrderedGroup::readable() const noexcept { return core_->readable(); }
void OrderedGroup::set_persisted(std::uint64_t next) noexcept { core_->set_persisted(next); }
std::uint64_t OrderedGroup::persisted_by_all() const noexcept { return core_->persisted_by_all(); }
std::string OrderedGroup::describe() const { return core_->describe(); }

}  // namespace groups
