// SPDX-License-Identifier: MIT
// GroupCore: from one view to the next.
#include <algorithm>
#include <bit>
#include <utility>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/error.hpp"
#include "group_core.hpp"

namespace groups::detail {

bool GroupCore::must_wedge() {
  const std::uint64_t included = now_->included();
  bool leaves = false;
  for (std::uint16_t row = 0; row < now_->size(); ++row) {
    const Standing standing = now_->standing(row);
    if (now_->frozen(row) || standing.parted || standing.wedged != 0) return true;
    leaves = leaves || standing.leaving;
  }
  if (leaving_ && undelivered() == 0 && !now_->standing(now_->self()).leaving) {
    now_->say([](Standing& mine) { mine.leaving = true; });
  }
  return now_->agreement.leads() && (leaves || donor_of_candidate(included));
}

void GroupCore::wedge() {
  wedged_ = true;
  const std::uint64_t received = now_->messages.wedge();
  now_->say([&](Standing& mine) { mine.wedged = received + 1; });
}

// --- the leader -------------------------------------------------------------------------------

void GroupCore::lead() {
  // What was wished before may be out of date.
  now_->agreement.withdraw();
  if (!wedged_ || !now_->agreement.idle()) return;
  if (const Decision wanted = wanted_decision(); wanted.kind != Decision::kNone) {
    now_->agreement.propose(wanted);
  }
}

Decision GroupCore::wanted_decision() const {
  const std::uint64_t included = now_->included();
  if (!now_->is_majority(included)) return {};
  for (std::uint16_t row = 0; row < now_->size(); ++row) {
    if ((included & bit(row)) != 0 && now_->standing(row).wedged == 0) return {};
  }
  if (attempt_.kind == Decision::kNone) return next_attempt(included);
  if (all_made()) {
    Decision commit = attempt_;
    commit.kind = Decision::kCommit;
    return commit;
  }
  return is_broken(included) ? next_attempt(included) : Decision{};
}

Decision GroupCore::next_attempt(std::uint64_t included) const {
  Decision next;
  next.kind = Decision::kNext;
  next.attempt = attempt_.attempt + 1;
  next.trim = ~std::uint64_t{0};
  for (std::uint16_t row = 0; row < now_->size(); ++row) {
    if ((included & bit(row)) == 0) continue;
    const Standing standing = now_->standing(row);
    next.trim = std::min(next.trim, standing.wedged - 1);
    if (!standing.leaving) next.stay |= bit(row);
  }
  // Whoever joins has one attempt in each view: one that is slow does not hold up the others.
  const auto donor = donor_of_candidate(next.stay);
  if (next.attempt == 1 && donor) {
    const Standing standing = now_->standing(*donor);
    next.donor = *donor;
    next.joiner = standing.joiner;
    next.ticket = standing.ticket;
  }
  return next;
}

bool GroupCore::all_made() const {
  for (std::uint16_t row = 0; row < now_->size(); ++row) {
    if ((attempt_.stay & bit(row)) != 0 && now_->standing(row).made != attempt_.attempt) {
      return false;
    }
  }
  return true;
}

bool GroupCore::is_broken(std::uint64_t included) const {
  if ((attempt_.stay & ~included) != 0) return true;
  for (std::uint16_t row = 0; row < now_->size(); ++row) {
    if ((attempt_.stay & bit(row)) != 0 && now_->standing(row).broken == attempt_.attempt) {
      return true;
    }
  }
  if (attempt_.ticket == 0) return false;
  const dsfabric::ProcessId joiner{attempt_.joiner};
  const Ask ask = door_.ask(joiner);
  return door_.gone(joiner) || !ask.wanted || ask.ticket != attempt_.ticket ||
         dtutils::Clock::now() - attempt_began_ > patience_with_one();
}

// --- everybody --------------------------------------------------------------------------------

bool GroupCore::follow() {
  bool any = false;
  while (now_ && !now_->decisions.empty()) {
    any = true;
    const Decision decision = now_->decisions.front();
    now_->decisions.erase(now_->decisions.begin());
    // A proposal that something else was decided before may follow it, out of date. It means
    // nothing, to anybody.
    const std::uint64_t expected = attempt_.attempt + (decision.kind == Decision::kNext);
    if (decision.attempt != expected) continue;
    if (decision.kind == Decision::kNext) {
      start(decision);
    } else if ((decision.stay & bit(now_->self())) != 0) {
      install();
    } else {
      depart();
    }
  }
  return go_on() || any;
}

void GroupCore::start(const Decision& next) {
  // A leader that proposes it was wedged, and so are all that take part.
  refuse_joiner();  // of the attempt before
  attempt_ = next;
  attempt_began_ = dtutils::Clock::now();
  next_.reset();
  step_ = Step::kDeliver;
}

bool GroupCore::go_on() {
  if (!now_) return false;
  if (step_ == Step::kDeliver) {
    now_->messages.deliver_until(attempt_.trim);
    step_ = (attempt_.stay & bit(now_->self())) != 0 ? Step::kMake : Step::kNone;
    send_cut();
    return true;
  }
  if (step_ == Step::kMake) {
    make();
    return true;
  }
  if (step_ == Step::kMade && joiner_has_made()) {
    step_ = Step::kNone;
    now_->say([&](Standing& mine) { mine.made = attempt_.attempt; });
    return true;
  }
  if (step_ == Step::kMade && has_lost_the_group()) {
    break_attempt();
    return true;
  }
  return false;
}

void GroupCore::make() {
  step_ = Step::kNone;
  const auto end = dtutils::Clock::now() + patience_with_tables();
  bool in_vain = false;
  try {
    next_ = make_tables(next_view(), attempt_.attempt, [&] {
      in_vain = decided_meanwhile() || has_lost_the_group() || dtutils::Clock::now() > end;
      return in_vain;
    });
    step_ = Step::kMade;
  } catch (const dsfabric::PeerFailed&) {
    // If it was a member, the agreement removes it, and the leader sees that.
    if (attempt_.ticket != 0) break_attempt();
  } catch (const dtutils::Error&) {
    break_attempt();
    // Anything else is for the user.
    if (!in_vain) throw;
  }
}

void GroupCore::break_attempt() {
  step_ = Step::kNone;
  next_.reset();
  now_->say([&](Standing& mine) { mine.broken = attempt_.attempt; });
  refuse_joiner();
}

void GroupCore::refuse_joiner() noexcept {
  // It has asked for more since, and this member's answer to that is in the same place.
  if (attempt_.ticket == 0 || served_[attempt_.joiner] > attempt_.ticket) return;
  source_.refuse({attempt_.joiner}, attempt_.ticket);
}

/// The others may be in the same place in other groups, each waiting for the next one in a circle.
/// Who gives up lets the other groups of its thread go on, and the attempt is followed by another
/// one. The rows' limits differ, so that not all give up at once, and double from attempt to
/// attempt, since the others may only be slow. With a newcomer the leader's patience ends it.
std::chrono::milliseconds GroupCore::patience_with_tables() const noexcept {
  if (attempt_.ticket != 0) return std::chrono::hours(1);
  constexpr std::uint64_t kMostDoublings = 9;
  const auto first = kTablesPatience + kTablesPatience * now_->self() / now_->size();
  return first * (1u << std::min(attempt_.attempt - 1, kMostDoublings));
}

bool GroupCore::decided_meanwhile() {
  watch_.look(*now_);
  source_.pump();
  lead();
  now_->agreement.evaluate();
  return !now_->decisions.empty();
}

bool GroupCore::has_lost_the_group() const noexcept {
  const GroupState now = state();
  return now == GroupState::kMajorityLost || now == GroupState::kRemoved;
}

View GroupCore::next_view() const {
  View next{now_->view.id + 1, {}, {}, {}};
  for (std::uint16_t row = 0; row < now_->size(); ++row) {
    ((attempt_.stay & bit(row)) != 0 ? next.members : next.left).push_back(now_->view.members[row]);
  }
  if (attempt_.ticket != 0) {
    next.joined.push_back({attempt_.joiner});
    next.members.push_back({attempt_.joiner});
    std::sort(next.members.begin(), next.members.end());
  }
  return next;
}

void GroupCore::send_cut() {
  if (attempt_.ticket == 0 || attempt_.donor != now_->self()) return;
  if (source_.ticket() != attempt_.ticket || source_.process().value != attempt_.joiner) {
    break_attempt();
    return;
  }
  const View next = next_view();
  source_.append({RecordHead::kCut, process().value, next.id, attempt_.attempt,
                  next.members.size() * sizeof(dsfabric::ProcessId)},
                 std::as_bytes(std::span(next.members)));
}

bool GroupCore::joiner_has_made() const {
  if (attempt_.ticket == 0) return true;
  const auto row = next_->find({attempt_.joiner});
  return row && next_->standing(*row).arrived;
}

void GroupCore::install() {
  const std::unique_ptr<ViewTables> old = std::exchange(now_, std::move(next_));
  if (source_.ticket() == attempt_.ticket && source_.process().value == attempt_.joiner) {
    source_.end();
  }
  // At most as many as a ring has slots, so there is room.
  old->messages.for_each_undelivered([&](const std::byte* bytes, std::uint32_t size) {
    (void)now_->messages.try_send(bytes, size);
  });
  now_->messages.flush();
  enter_view();
}

void GroupCore::enter_view() {
  wedged_ = false;
  step_ = Step::kNone;
  attempt_ = {};
  watch_.reset();
  reads_.enter_view();
  now_->say([](Standing& mine) { mine.committed = true; });
  if (persisted_ != 0) now_->state.set(&ViewRow::persisted, persisted_);
  view_ = now_->view;
  door_.announce(view_);
  tell_view();
}

void GroupCore::depart() {
  view_ = next_view();
  wedged_ = false;
  leaving_ = false;
  step_ = Step::kNone;
  attempt_ = {};
  // When this process is in again by its next look, whom it served has not seen that it left.
  source_.give_up();
  door_.announce(view_);
  now_.reset();
  next_.reset();
  tell_view();
}

}  // namespace groups::detail
