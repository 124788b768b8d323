// SPDX-License-Identifier: MIT
// The part of a multicast that does not know who takes the messages: memory, rings, counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/device_memory.hpp"
#include "sst/detail/ring_sender.hpp"
#include "sst/detail/turn_order.hpp"
#include "sst/multicast_options.hpp"
#include "sst/multicast_row.hpp"
#include "sst/table.hpp"

namespace sst::detail {

/// For Multicast, which says what is promised. Registered memory, the same at every member: a ring
/// for each sender, in the order of turns. The ring of this process is the one that it sends from.
/// MulticastRow has the counters. What a call of evaluate() does, in this order: posts what was
/// queued, looks for messages, says what has come, delivers, and gives slots back.
///
/// Slots go back by the slowest: `MulticastRow::taken` of a receiver is pushed after the delivery
/// from the slot has returned, and a sender fills a slot again when it finds the counters of all
/// receivers that are not gone behind it. So nothing is written into a slot that anybody reads.
/// tests/sst/model/ring.pml holds this, and tests/sst/model/turns.pml the order by turns.
///
/// Owner thread only.
class MulticastCore {
 public:
  using Row = MulticastRow;

  /// Throws as Table, and Error for options that cannot be, or that differ among members.
  MulticastCore(TableGroup& group, const MulticastOptions& options);
  MulticastCore(const MulticastCore&) = delete;
  MulticastCore& operator=(const MulticastCore&) = delete;
  ~MulticastCore();

  /// As Multicast::try_reserve.
  Reservation try_reserve(std::uint32_t bytes) noexcept {
    // Of no bytes: wraps round.
    if (bytes - 1 < max_message_ && may_send_ && sender_.has_room()) [[likely]] {
      reserved_ = bytes;
      return {sender_.slot(), SendStatus::kAccepted};
    }
    return reserve_slowly(bytes);
  }
  /// As Multicast::commit.
  bool commit() noexcept {
    if (reserved_ == 0) return false;
    sender_.commit(std::exchange(reserved_, 0));
    if (ordered_) turns_.take(*own_, 1);
    return true;
  }
  /// As Multicast::flush.
  bool flush() noexcept {
    const bool any = sender_.post();
    if (any && ordered_) push_received();
    return any;
  }
  /// As Multicast::evaluate.
  template <class Deliver>
  bool evaluate(Deliver& deliver);

  /// As Multicast::wedge.
  std::uint64_t wedge() noexcept;
  /// As Multicast::deliver_until.
  template <class Deliver>
  void deliver_until(Deliver& deliver, std::uint64_t end) {
    while (turns_.position() < end) deliver_next(deliver);
  }
  /// As Multicast::for_each_undelivered.
  template <class Visit>
  void for_each_undelivered(Visit& visit) const {
    if (!own_) return;
    const Source& own = sources_[*own_];
    for (std::uint64_t i = own.taken; i != sender_.committed(); ++i) {
      const SlotWord sent = word(own, i);
      if (!sent.is_null()) visit(own.ring + format_.slot(i), sent.bytes());
    }
  }

  /// As Multicast::table.
  Table<Row>& table() noexcept { return table_; }
  const Table<Row>& table() const noexcept { return table_; }
  /// As Multicast::max_message.
  std::uint32_t max_message() const noexcept { return max_message_; }
  /// As Multicast::sent.
  std::uint64_t sent() const noexcept { return sender_.committed(); }
  /// As Multicast::delivered.
  std::uint64_t delivered() const noexcept { return turns_.position(); }
  /// As Multicast::delivered_by_all.
  std::uint64_t delivered_by_all() const noexcept;
  /// As Multicast::gone.
  bool gone(MemberId member) const noexcept { return gone_.contains(member); }
  /// As Multicast::stopped.
  bool stopped() const noexcept { return ordered_ && first_gone_.has_value(); }
  /// As Multicast::why_stopped.
  std::string why_stopped() const;

 private:
  /// The ring of a sender, as this process receives it.
  struct Source {
    /// Its first slot.
    const std::byte* ring;
    /// Whose it is.
    MemberId sender;
    /// Slots whose turns were counted (kByTurns).
    std::uint64_t counted = 0;
    /// Slots that this process is done with, and the last number of them that the sender was told.
    std::uint64_t taken = 0;
    std::uint64_t told = 0;
    /// Turns of the null message in slot `taken` that have passed.
    std::uint64_t null_turns = 0;
  };
  /// What is known before the table is made.
  struct Plan;
  MulticastCore(TableGroup& group, Plan plan);

  SlotWord word(const Source& source, std::uint64_t index) const noexcept {
    return SlotWord(dtutils::load_device_word(
        reinterpret_cast<const std::uint64_t*>(source.ring + format_.word(index))));
  }
  bool is_own(const Source& source) const noexcept { return source.sender == table_.self(); }
  /// The message in the next slot is delivered. The slot is given back afterwards.
  template <class Deliver>
  void hand_over(Deliver& deliver, Source& source, SlotWord word, std::uint64_t number) {
    const std::byte* const data = source.ring + format_.slot(source.taken++);
    deliver(Message{source.sender, word.bytes(), data, number});
  }
  /// The turn at the next position, which has come.
  template <class Deliver>
  void deliver_next(Deliver& deliver);
  template <class Deliver>
  bool deliver_all(Deliver& deliver);
  template <class Deliver>
  bool deliver_stable(Deliver& deliver);

  void connect(std::uint64_t options);
  Reservation reserve_slowly(std::uint32_t bytes) noexcept;
  bool find_room() noexcept;
  bool count_turns() noexcept;
  bool take_due_turns() noexcept;
  bool push_received() noexcept;
  void give_back(bool idle) noexcept;
  void look_for_gone() noexcept;

  const bool ordered_;
  const std::uint32_t max_message_;
  const RingFormat format_;
  /// In the order of turns.
  std::vector<Source> sources_;
  /// The place of this process among them.
  const std::optional<std::size_t> own_;
  TurnOrder turns_;
  RingSender sender_;
  Table<Row> table_;
  bool may_send_;
  bool wedged_ = false;
  bool evaluating_ = false;
  /// Bytes of the message that is being built; 0: none is.
  std::uint32_t reserved_ = 0;
  RowSet gone_;
  std::optional<MemberId> first_gone_;
};

template <class Deliver>
bool MulticastCore::evaluate(Deliver& deliver) {
  if (evaluating_ || wedged_) return false;
  evaluating_ = true;
  const dtutils::detail::ScopeExit done([&]() noexcept { evaluating_ = false; });
  // A null message may need the slot.
  reserved_ = 0;
  bool busy = table_.evaluate();
  busy = sender_.post() || busy;
  if (ordered_) {
    busy = count_turns() || busy;
    busy = take_due_turns() || busy;
    busy = push_received() || busy;
    busy = deliver_stable(deliver) || busy;
  } else {
    busy = deliver_all(deliver) || busy;
  }
  give_back(!busy);
  if (!busy) look_for_gone();
  return busy;
}

template <class Deliver>
bool MulticastCore::deliver_all(Deliver& deliver) {
  bool any = false;
  for (Source& source : sources_) {
    if (is_own(source)) continue;
    // Then it is the turn of another sender, and slots go back.
    const std::uint64_t end = source.taken + format_.quarter();
    while (source.taken != end) {
      const SlotWord next = word(source, source.taken);
      if (!next.holds(source.taken)) break;
      any = true;
      hand_over(deliver, source, next, source.taken);
    }
  }
  return any;
}

template <class Deliver>
bool MulticastCore::deliver_stable(Deliver& deliver) {
  const std::uint64_t stable = table_.min(&Row::received);
  if (turns_.position() >= stable) return false;
  while (turns_.position() < stable) deliver_next(deliver);
  return true;
}

template <class Deliver>
void MulticastCore::deliver_next(Deliver& deliver) {
  Source& source = sources_[turns_.sender()];
  const std::uint64_t position = turns_.position();
  turns_.advance();
  const SlotWord next = word(source, source.taken);
  if (!next.is_null()) {
    hand_over(deliver, source, next, position);
  } else if (++source.null_turns == next.turns()) {
    source.null_turns = 0;
    ++source.taken;
  }
}

}  // namespace sst::detail
