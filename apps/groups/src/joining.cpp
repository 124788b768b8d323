// SPDX-License-Identifier: MIT
// GroupCore: a process that joins, and the member that brings it up to date.
#include <algorithm>
#include <cstring>
#include <utility>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/error.hpp"
#include "group_core.hpp"

namespace groups::detail {

// --- members ----------------------------------------------------------------------------------

bool GroupCore::asks(dsfabric::ProcessId process, std::uint64_t ticket) const noexcept {
  const Ask ask = door_.ask(process);
  return ask.wanted && ask.ticket == ticket && !door_.gone(process);
}

std::optional<std::uint16_t> GroupCore::donor_of_candidate(std::uint64_t included) const {
  if (now_->size() == kMaxGroupMembers) return std::nullopt;
  for (std::uint16_t row = 0; row < now_->size(); ++row) {
    if ((included >> row & 1) == 0 || now_->frozen(row)) continue;
    const Standing standing = now_->standing(row);
    const dsfabric::ProcessId joiner{standing.joiner};
    if (standing.ticket != 0 && !now_->find(joiner) && asks(joiner, standing.ticket)) return row;
  }
  return std::nullopt;
}

bool GroupCore::serve_joiner() {
  if (source_.active() && !asks(source_.process(), source_.ticket())) source_.end();
  for (std::uint16_t i = 0; !wedged_ && !source_.active() && i < door_.size(); ++i) {
    const dsfabric::ProcessId joiner{i};
    const Ask ask = door_.ask(joiner);
    if (ask.donor != process().value || ask.ticket <= served_[i] || !asks(joiner, ask.ticket) ||
        now_->find(joiner)) {
      continue;
    }
    const auto bytes =
        upcalls_.snapshot ? upcalls_.snapshot(next_sequence_) : std::vector<std::byte>();
    served_[i] = ask.ticket;
    source_.begin(joiner, static_cast<std::uint32_t>(ask.ticket), now_->view.id, next_sequence_,
                  bytes);
  }
  const std::uint32_t ready = source_.nearly_done() ? source_.ticket() : 0;
  const Standing mine = now_->standing(now_->self());
  if (!wedged_ &&
      (mine.ticket != ready || (ready != 0 && mine.joiner != source_.process().value))) {
    now_->say([&](Standing& standing) {
      standing.ticket = ready;
      standing.joiner = source_.process().value;
    });
  }
  return source_.pump() || source_.give_up_stalled();
}

// --- the process that joins -------------------------------------------------------------------

void GroupCore::join() noexcept {
  if (now_ || joining_) return;
  joining_ = true;
  ask_.wanted = false;
}

void GroupCore::leave() noexcept {
  if (now_) leaving_ = true;
  if (!joining_ || next_) return;
  joining_ = false;
  ask_.wanted = false;
  door_.set_ask(ask_);
}

void GroupCore::ask_again() {
  has_state_ = false;
  cut_.reset();
  const std::optional<dsfabric::ProcessId> donor = door_.find_donor(ask_.ticket + 1);
  if (!donor && !ask_.wanted) return;
  // Another ticket, or none, also tells the members that an attempt has come to nothing.
  ask_.wanted = donor.has_value();
  if (donor) {
    ++ask_.ticket;
    ask_.donor = donor->value;
    sink_.begin(*donor, static_cast<std::uint32_t>(ask_.ticket));
  }
  door_.set_ask(ask_);
}

bool GroupCore::is_passed_over(const View& view) const noexcept {
  const Known newest = door_.newest();
  return newest.view >= view.id && !newest.members.contains(process());
}

bool GroupCore::is_in_vain(const View& view) const noexcept {
  return door_.gone({ask_.donor}) || is_passed_over(view) ||
         std::any_of(view.members.begin(), view.members.end(), [&](dsfabric::ProcessId member) {
           return member != process() && sink_.is_refused_by(member);
         });
}

bool GroupCore::go_on_joining() {
  if (next_) return await_commit();
  const Known newest = door_.newest();
  const dsfabric::ProcessId donor{ask_.donor};
  if (!ask_.wanted || sink_.given_up() || door_.gone(donor) || !newest.members.contains(donor)) {
    ask_again();
    return ask_.wanted;
  }
  const bool busy = sink_.poll();
  const bool has_cut = take_records();
  // Not before: to take a state in may take a while, and the donor waits longer for that.
  sink_.give_back();
  if (has_cut) make_first_view();
  return busy;
}

bool GroupCore::take_records() {
  while (!cut_) {
    const std::optional<StateSink::Record> record = sink_.next();
    if (!record) return false;
    const RecordHead& head = record->head;
    if (head.kind == RecordHead::kState) {
      next_sequence_ = head.sequence;
      has_state_ = true;
      if (upcalls_.restore) upcalls_.restore(record->bytes, head.sequence);
    } else if (head.kind == RecordHead::kMessage) {
      deliver({head.view, head.sequence, {static_cast<std::uint16_t>(head.sender)}, record->bytes});
    } else {
      View next{head.view, {}, {process()}, {}};
      next.members.resize(head.bytes / sizeof(dsfabric::ProcessId));
      std::memcpy(next.members.data(), record->bytes.data(), head.bytes);
      cut_attempt_ = head.sequence;
      cut_ = std::move(next);
    }
  }
  return has_state_;
}

void GroupCore::make_first_view() {
  try {
    next_ = make_tables(*cut_, cut_attempt_, [this] { return is_in_vain(*cut_); });
    next_->say([](Standing& mine) { mine.arrived = true; });
  } catch (const dtutils::Error&) {
    ask_again();
  }
}

bool GroupCore::await_commit() {
  bool ended = is_passed_over(next_->view);
  bool alone = true;
  bool committed = false;
  for (std::uint16_t row = 0; row < next_->size(); ++row) {
    ended = ended || next_->standing(row).parted;
    alone = alone && (row == next_->self() || next_->frozen(row));
  }
  // Looked at last: whoever is committed says so before it parts from the view, or dies.
  for (std::uint16_t row = 0; row < next_->size(); ++row) {
    committed = committed || next_->standing(row).committed;
  }
  if (committed) {
    now_ = std::move(next_);
    joining_ = false;
    ask_.wanted = false;
    door_.set_ask(ask_);
    accepted_ = own_delivered_;
    enter_view();
  } else if (ended || alone) {
    next_.reset();
    ask_again();
  }
  return committed || ended;
}

}  // namespace groups::detail
