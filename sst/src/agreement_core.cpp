// SPDX-License-Identifier: MIT
// AgreementCore: the rules.
#include "sst/detail/agreement_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dtutils/error.hpp"

namespace sst::detail {
namespace {

constexpr std::uint32_t kProposerBits = 16;

std::uint64_t ballot(std::uint64_t round, MemberId proposer) noexcept {
  return round << kProposerBits | (proposer.value + 1u);
}

TableOptions checked(TableOptions options) {
  if (options.mode != Mode::kWrites) {
    throw dtutils::Error(fmt::format("agreement {}", options.name),
                         "it needs the order of pushes, which tables in the mode kReads lack",
                         "make it in the mode kWrites");
  }
  return options;
}

}  // namespace

AgreementCore::AgreementCore(TableGroup& group, TableOptions options, Quorum quorum,
                             Decided decided)
    : quorum_(quorum),
      decided_(std::move(decided)),
      table_(group, checked(std::move(options)), Row{ballot(1, {0}), {}, {}, {}, false}) {
  taking_part_ = RowSet::first(table_.size());
  const auto goes_on = [this] { return !removed_ && is_cut_off(); };
  // Rows change at any time, so triggers look again.
  table_.when([this](const State& t) { return found_gone() != t.mine(&Row::gone); })
      .recurrent([this](State& t) { t.set(&Row::gone, found_gone()); });
  table_.when([=, this](const State&) { return goes_on() && highest_ballot() > my_ballot(); })
      .recurrent([this](State& t) { t.set(&Row::ballot, highest_ballot()); });
  table_.when([=, this](const State&) { return goes_on() && vote(); }).recurrent([this](State& t) {
    if (const std::optional<Entry> found = vote()) t.set(&Row::vote, *found);
  });
  table_.when([=, this](const State&) { return goes_on() && decision(); })
      .recurrent([this](State&) {
        if (const std::optional<Entry> found = decision()) decide(*found);
      });
  table_.when([=, this](const State&) { return goes_on() && was_left_behind(); })
      .recurrent([this](State&) { removed_ = true; });
  table_.when([=, this](const State&) { return goes_on() && should_campaign(); })
      .recurrent([this](State&) { campaign(); });
  table_.when([=, this](const State&) { return goes_on() && proposal(); })
      .recurrent([this](State&) {
        if (const std::optional<Entry> found = proposal()) vote_for(*found);
      });
}

AgreementCore::~AgreementCore() { table_.set(&Row::parted, true); }

// --- reading ----------------------------------------------------------------------------------

template <class Test>
RowSet AgreementCore::those(const RowSet& among, Test test) const noexcept {
  RowSet found;
  for (std::uint16_t i = 0; i < table_.size(); ++i) {
    if (among.contains({i}) && test(MemberId{i})) found.add({i});
  }
  return found;
}

bool AgreementCore::is_quorum(const RowSet& members) const noexcept {
  if (quorum_ == Quorum::kMajority) return 2 * members.size() > taking_part_.size();
  // All of them, or those that live: the dead do not tell of each other.
  const RowSet living = members - gone_to(table_.self());
  return are_alone(members) || are_alone(living);
}

bool AgreementCore::are_alone(const RowSet& members) const noexcept {
  const RowSet others = taking_part_ - members;
  return !members.empty() &&
         all_of(members, [&](MemberId member) { return gone_to(member).includes(others); });
}

RowSet AgreementCore::gone_to(MemberId member) const noexcept {
  return table_.get(member, &Row::gone) |
         those(taking_part_, [&](MemberId other) { return table_.get(other, &Row::parted); });
}

bool AgreementCore::knows_last(MemberId member) const noexcept {
  return table_.get(member, &Row::decision).slot + 1 >= slot_;
}

bool AgreementCore::owns(std::uint64_t ballot) const noexcept {
  return ballot % (1u << kProposerBits) == table_.self().value + 1u;
}

std::uint64_t AgreementCore::highest_ballot() const noexcept {
  std::uint64_t highest = 0;
  for (std::uint16_t i = 0; i < table_.size(); ++i) {
    if (taking_part_.contains({i})) highest = std::max(highest, table_.get({i}, &Row::ballot));
  }
  return highest;
}

std::optional<AgreementCore::Entry> AgreementCore::highest_vote(
    const RowSet& among) const noexcept {
  std::optional<Entry> highest;
  for (std::uint16_t i = 0; i < table_.size(); ++i) {
    if (!among.contains({i})) continue;
    const Entry seen = table_.get({i}, &Row::vote);
    if (seen.slot == slot_ && (!highest || seen.ballot > highest->ballot)) highest = seen;
  }
  return highest;
}

bool AgreementCore::is_cut_off() const noexcept {
  return cut_off_.empty() || all_of(cut_off_, [&](MemberId member) {
           return table_.group().cut_off(table_.process(member));
         });
}

std::optional<MemberId> AgreementCore::leader() const noexcept {
  const RowSet here = taking_part_ - gone_to(table_.self());
  for (std::uint16_t i = 0; i < table_.size(); ++i) {
    if (here.contains({i}) && is_quorum(taking_part_ - gone_to({i}))) {
      return MemberId{i};
    }
  }
  return std::nullopt;
}

bool AgreementCore::leads() const noexcept { return !removed_ && leader() == table_.self(); }

bool AgreementCore::idle() const noexcept {
  return leads() && !wish_ && !proposed_ && !highest_vote(taking_part_) && to_remove().empty() &&
         all_of(taking_part_, [&](MemberId member) { return knows_last(member); });
}

AgreementState AgreementCore::state() const noexcept {
  if (removed_) return AgreementState::kRemoved;
  return leader() ? AgreementState::kWorking : AgreementState::kNoQuorum;
}

// --- the rules --------------------------------------------------------------------------------

RowSet AgreementCore::found_gone() const noexcept {
  // What is gone stays gone.
  return table_.mine(&Row::gone) | those(RowSet::first(table_.size()), [&](MemberId member) {
           return member != table_.self() && table_.frozen(member);
         });
}

RowSet AgreementCore::to_remove() const noexcept {
  const RowSet gone = gone_to(table_.self());
  RowSet named = gone;
  for (std::uint16_t i = 0; quorum_ == Quorum::kMajority && i < table_.size(); ++i) {
    if (!taking_part_.contains({i}) || gone.contains({i})) continue;
    named = named | (table_.get({i}, &Row::gone) - RowSet::first(i));
  }
  return taking_part_ & named;
}

bool AgreementCore::was_left_behind() const noexcept {
  return !those(RowSet::first(table_.size()), [&](MemberId member) {
            return table_.get(member, &Row::decision).slot > slot_;
          }).empty();
}

std::optional<AgreementCore::Entry> AgreementCore::decision() const noexcept {
  for (std::uint16_t i = 0; i < table_.size(); ++i) {
    const Entry theirs = table_.get({i}, &Row::decision);
    if (theirs.slot == slot_) return theirs;
  }
  const Entry mine = table_.mine(&Row::vote);
  if (mine.slot != slot_) return std::nullopt;
  const RowSet voters = those(taking_part_, [&](MemberId member) {
    const Entry theirs = table_.get(member, &Row::vote);
    return theirs.slot == slot_ && theirs.ballot == mine.ballot;
  });
  return is_quorum(voters) ? std::optional(mine) : std::nullopt;
}

std::optional<AgreementCore::Entry> AgreementCore::vote() const noexcept {
  const Entry mine = table_.mine(&Row::vote);
  const std::uint64_t ballot = my_ballot();
  if (mine.slot == slot_ && mine.ballot == ballot) return std::nullopt;
  const std::optional<Entry> highest = highest_vote(taking_part_);
  return highest && highest->ballot == ballot ? highest : std::nullopt;
}

bool AgreementCore::should_campaign() const noexcept {
  if (!leads() || owns(my_ballot())) return false;
  const bool needed = wish_ || !to_remove().empty() || highest_vote(taking_part_).has_value();
  return needed && dtutils::Clock::now() >= next_campaign_;
}

std::optional<AgreementCore::Entry> AgreementCore::proposal() const noexcept {
  const std::uint64_t ballot = my_ballot();
  const Entry mine = table_.mine(&Row::vote);
  if (!leads() || !owns(ballot) || (mine.slot == slot_ && mine.ballot == ballot)) {
    return std::nullopt;
  }
  // Ballots first: who has promised this one shows every vote that it gave before.
  const RowSet promised = those(
      taking_part_, [&](MemberId member) { return table_.get(member, &Row::ballot) == ballot; });
  if (!is_quorum(promised)) return std::nullopt;
  const bool later = !those(promised, [&](MemberId member) {
                        const Entry theirs = table_.get(member, &Row::vote);
                        return theirs.slot > slot_ || theirs.ballot > ballot;
                      }).empty();
  if (later) return std::nullopt;  // the slot is decided, or somebody else's
  if (const std::optional<Entry> earlier = highest_vote(promised)) {
    return entry(static_cast<Kind>(earlier->kind), earlier->value);
  }

  const RowSet gone = to_remove();
  const bool all_know =
      all_of(taking_part_ - gone, [&](MemberId member) { return knows_last(member); });
  if (!all_know) return std::nullopt;
  if (gone.empty()) return wish_ ? std::optional(entry(Kind::kValue, *wish_)) : std::nullopt;
  const RowSet failed = those(gone, [&](MemberId member) {
    return !table_.get(member, &Row::parted) &&
           table_.group().fabric().state(table_.process(member)) != dsfabric::PeerState::kLeft;
  });
  return failed.empty() ? entry(Kind::kRemoveParted, std::bit_cast<Value>(gone))
                        : entry(Kind::kRemoveFailed, std::bit_cast<Value>(failed));
}

AgreementCore::Entry AgreementCore::entry(Kind kind, const Value& value) const noexcept {
  return {my_ballot(), slot_, static_cast<std::uint64_t>(kind), value};
}

// --- what they do -----------------------------------------------------------------------------

void AgreementCore::decide(const Entry& entry) {
  table_.set(&Row::decision, entry);
  ++slot_;
  campaigns_ = 0;
  const std::optional<Value> proposed = std::exchange(proposed_, std::nullopt);
  const auto kind = static_cast<Kind>(entry.kind);
  // Somebody else's was decided: its own value is still wished for.
  if (proposed && (kind != Kind::kValue || entry.value != *proposed) && !wish_) wish_ = proposed;
  if (kind == Kind::kValue) {
    decided_(++number_, entry.value);
  } else {
    remove(std::bit_cast<RowSet>(entry.value), kind == Kind::kRemoveFailed);
  }
}

void AgreementCore::remove(const RowSet& members, bool failed) {
  taking_part_ = taking_part_ - members;
  removed_ = members.contains(table_.self());
  if (removed_ || !failed) return;
  for (const MemberId member : members.ids()) {
    table_.group().fabric().fail(table_.process(member),
                                 "the others have agreed that it is gone: " + options().name);
    cut_off_.add(member);
  }
}

void AgreementCore::campaign() {
  const std::uint64_t round = (highest_ballot() >> kProposerBits) + 1;
  table_.set(&Row::ballot, ballot(round, table_.self()));
  // Two that take each other for gone do not outbid one another forever.
  const auto pause = kCampaignPause * (1u << std::min(campaigns_++, kMaxCampaignDoublings));
  next_campaign_ = dtutils::Clock::now() + pause +
                   pause * table_.self().value / static_cast<std::int64_t>(table_.size());
}

void AgreementCore::vote_for(const Entry& proposal) {
  if (wish_ && static_cast<Kind>(proposal.kind) == Kind::kValue && proposal.value == *wish_) {
    proposed_ = std::exchange(wish_, std::nullopt);
  }
  table_.set(&Row::vote, proposal);
}

}  // namespace sst::detail
