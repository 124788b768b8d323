// SPDX-License-Identifier: MIT
// MulticastCore: finding the rings of the others, turns, giving slots back, who is gone.
#include "sst/detail/multicast_core.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dtutils/error.hpp"
#include "multicast_plan.hpp"

namespace sst::detail {

MulticastCore::MulticastCore(TableGroup& group, const MulticastOptions& options)
    : MulticastCore(group, Plan(group, options)) {}

MulticastCore::MulticastCore(TableGroup& group, Plan plan)
    : ordered_(plan.options.order == Order::kByTurns),
      max_message_(plan.options.max_message),
      format_(plan.format),
      sources_(std::move(plan.sources)),
      own_(plan.own),
      turns_(sources_.size()),
      // Before the table takes the memory.
      sender_(format_, plan.memory.data() + own_.value_or(0) * format_.bytes, plan.memory.lkey(),
              group.max_inline()),
      table_(group,
             {.members = plan.options.members,
              .name = plan.options.name,
              .give_up = plan.options.give_up},
             plan.row, std::move(plan.memory)),
      may_send_(own_.has_value()) {
  connect(plan.row.options);
}

MulticastCore::~MulticastCore() { table_.set(&Row::parted, 1u); }

void MulticastCore::connect(std::uint64_t options) {
  for (std::uint16_t i = 0; i < table_.size(); ++i) {
    const MemberId member{i};
    if (table_.get(member, &Row::options) != options) {
      throw dtutils::Error(
          fmt::format("multicast {}", table_.options().name),
          fmt::format("process {} makes it with other options than process {}",
                      table_.process(member).value, table_.process(table_.self()).value),
          "give the same order, senders, max_message and slots at all members, on devices of one "
          "kind");
    }
    if (member == table_.self() || !own_) continue;
    sender_.add({&table_.group().transmitter(table_.process(member)),
                 table_.get(member, &Row::memory_address) + *own_ * format_.bytes,
                 static_cast<std::uint32_t>(table_.get(member, &Row::memory_key)), member});
  }
}

Reservation MulticastCore::reserve_slowly(std::uint32_t bytes) noexcept {
  reserved_ = 0;
  if (bytes - 1 >= max_message_) return {nullptr, SendStatus::kBadSize};
  if (!own_) return {nullptr, SendStatus::kNoSender};
  if (wedged_) return {nullptr, SendStatus::kStopped};
  if (!stopped()) look_for_gone();
  if (stopped()) return {nullptr, SendStatus::kStopped};
  if (!find_room()) return {nullptr, SendStatus::kFull};
  reserved_ = bytes;
  return {sender_.slot(), SendStatus::kAccepted};
}

std::uint64_t MulticastCore::wedge() noexcept {
  wedged_ = true;
  may_send_ = false;
  reserved_ = 0;
  return table_.mine(&Row::received);
}

bool MulticastCore::find_room() noexcept {
  if (!sender_.has_room()) sender_.give_back(delivered_by_all());
  return sender_.has_room();
}

std::uint64_t MulticastCore::delivered_by_all() const noexcept {
  std::uint64_t least = sender_.committed();
  for (std::uint16_t i = 0; own_ && i < table_.size(); ++i) {
    const MemberId member{i};
    if (gone_.contains(member) || (!ordered_ && member == table_.self())) continue;
    least = std::min(least, table_.get(member, &Row::taken, *own_));
  }
  return least;
}

bool MulticastCore::count_turns() noexcept {
  bool any = false;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    if (is_own(source)) continue;
    std::uint64_t turns = 0;
    for (;;) {
      const SlotWord next = word(source, source.counted);
      if (!next.holds(source.counted)) break;
      turns += next.turns();
      ++source.counted;
    }
    any = any || turns != 0;
    turns_.take(i, turns);
  }
  return any;
}

bool MulticastCore::take_due_turns() noexcept {
  if (!own_ || stopped()) return false;
  const std::uint64_t taken = turns_.taken(*own_);
  const std::uint64_t due = turns_.due(*own_);
  // Without room: whatever fills the ring has been sent, and frees it when it was delivered.
  if (due <= taken || !find_room()) return false;
  const std::uint64_t turns = std::min<std::uint64_t>(due - taken, SlotWord::kMaxCount);
  sender_.commit_null(static_cast<std::uint32_t>(turns));
  turns_.take(*own_, turns);
  return sender_.post();
}

bool MulticastCore::push_received() noexcept {
  const std::uint64_t received = turns_.received();
  if (received == table_.mine(&Row::received)) return false;
  table_.set(&Row::received, received);
  return true;
}

void MulticastCore::give_back(bool idle) noexcept {
  const std::uint64_t enough = idle ? 1 : format_.quarter();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    if (source.taken - source.told < enough) continue;
    source.told = source.taken;
    table_.store(&Row::taken, i, source.taken);
    if (!is_own(source)) table_.push_to(source.sender, &Row::taken, i);
  }
  if (ordered_ && turns_.position() - table_.mine(&Row::delivered) >= enough * sources_.size()) {
    table_.set(&Row::delivered, turns_.position());
  }
}

void MulticastCore::look_for_gone() noexcept {
  for (std::uint16_t i = 0; i < table_.size(); ++i) {
    const MemberId member{i};
    if (member == table_.self() || gone_.contains(member)) continue;
    if (!table_.frozen(member) && table_.get(member, &Row::parted) == 0) continue;
    gone_.add(member);
    if (!first_gone_) first_gone_ = member;
    sender_.remove(member);
    if (ordered_) may_send_ = false;
  }
}

std::string MulticastCore::why_stopped() const {
  if (!stopped()) return {};
  const dsfabric::ProcessId process = table_.process(*first_gone_);
  const std::string reason = table_.group().fabric().failure_reason(process);
  return reason.empty() ? fmt::format("process {} has ended its multicast {}", process.value,
                                      table_.options().name)
                        : fmt::format("process {} failed: {}", process.value, reason);
}

}  // namespace sst::detail
