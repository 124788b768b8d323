// SPDX-License-Identifier: MIT
// GroupCore: making it, sending, delivering, a round of progress, what is known.
#include "group_core.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "dtutils/error.hpp"

namespace groups::detail {
namespace {

/// Rounds of progress from one look at the members to the next, while nothing happens to them.
constexpr std::uint32_t kLookInterval = 16;

std::vector<dsfabric::ProcessId> all_processes(const sst::TableGroup& group) {
  std::vector<dsfabric::ProcessId> all;
  for (std::uint32_t i = 0; i < group.fabric().founders(); ++i) {
    all.push_back({static_cast<std::uint16_t>(i)});
  }
  return all;
}

[[noreturn]] void refuse(const GroupOptions& options, const std::string& what,
                         const std::string& advice) {
  throw dtutils::Error(fmt::format("group {}", options.name), what, advice);
}

GroupOptions checked(const sst::TableGroup& group, GroupOptions options) {
  const std::uint32_t processes = group.fabric().founders();
  if (options.members.empty()) options.members = all_processes(group);
  std::sort(options.members.begin(), options.members.end());
  if (options.members.size() > kMaxGroupMembers) {
    refuse(options, fmt::format("{} members are too many", options.members.size()),
           fmt::format("use at most {}", kMaxGroupMembers));
  }
  if (options.members.back().value >= processes) {
    refuse(options,
           fmt::format("process {} is no process of the job", options.members.back().value),
           fmt::format("name processes below {}", processes));
  }
  const auto twice = std::adjacent_find(options.members.begin(), options.members.end());
  if (twice != options.members.end()) {
    refuse(options, fmt::format("process {} is named twice as a member", twice->value),
           "name each member once");
  }
  if (options.patience < std::chrono::milliseconds(0)) {
    refuse(options, fmt::format("a patience of {} ms", options.patience.count()),
           "give the time after which a silent member is suspected, or 0");
  }
  if (options.first_view == 0) refuse(options, "the first view is 0", "count views from 1");
  return options;
}

GroupUpcalls checked(const GroupOptions& options, GroupUpcalls upcalls) {
  if (!upcalls.deliver) {
    refuse(options, "its upcall for deliveries is empty", "set GroupUpcalls::deliver");
  }
  return upcalls;
}

}  // namespace

GroupCore::GroupCore(sst::TableGroup& group, GroupOptions options, GroupUpcalls upcalls)
    : group_(group),
      options_(checked(group, std::move(options))),
      upcalls_(checked(options_, std::move(upcalls))),
      door_(group, options_),
      watch_(options_.patience),
      source_(door_),
      sink_(door_),
      may_send_(options_.senders.empty() ||
                std::find(options_.senders.begin(), options_.senders.end(), process()) !=
                    options_.senders.end()),
      next_sequence_(options_.first_sequence),
      served_(door_.capacity()) {
  const View first{options_.first_view, options_.members, options_.members, {}};
  if (std::find(first.members.begin(), first.members.end(), process()) == first.members.end()) {
    return;
  }
  now_ = make_tables(first, 1, {});
  view_ = first;
  view_is_told_ = false;
  door_.announce(first);
}

std::unique_ptr<ViewTables> GroupCore::make_tables(const View& view, std::uint64_t attempt,
                                                   std::function<bool()> give_up) {
  return std::make_unique<ViewTables>(
      group_, options_, view, attempt, [this](const sst::Message& message) { take(message); },
      std::move(give_up));
}

// --- sending and delivering -------------------------------------------------------------------

Reservation GroupCore::try_reserve(std::uint32_t bytes) noexcept {
  if (!now_ || leaving_ || removed_) return {nullptr, SendStatus::kNotMember};
  if (!may_send_) return {nullptr, SendStatus::kNoSender};
  if (bytes == 0 || bytes > options_.max_message) return {nullptr, SendStatus::kBadSize};
  if (wedged_) return {nullptr, SendStatus::kWedged};
  const sst::Reservation slot = now_->messages.try_reserve(bytes);
  switch (slot.status) {
    case sst::SendStatus::kAccepted:
      return {slot.data, SendStatus::kAccepted};
    case sst::SendStatus::kFull:
      return {nullptr, SendStatus::kFull};
    case sst::SendStatus::kBadSize:
      return {nullptr, SendStatus::kBadSize};
    case sst::SendStatus::kNoSender:
      return {nullptr, SendStatus::kNoSender};
    case sst::SendStatus::kStopped:
      break;
  }
  return {nullptr, SendStatus::kWedged};
}

bool GroupCore::commit() noexcept {
  const bool committed = now_ && now_->messages.commit();
  accepted_ += committed;
  return committed;
}

bool GroupCore::flush() noexcept {
  if (!now_) return false;
  const bool asked = !wedged_ && reads_.ask(*now_);
  return now_->messages.flush() || asked;
}

void GroupCore::take(const sst::Message& message) {
  deliver({now_->view.id,
           next_sequence_,
           now_->view.members[message.sender.value],
           {message.data, message.size}});
}

void GroupCore::deliver(const Delivery& message) {
  ++next_sequence_;
  own_delivered_ += message.sender == process() && !joining_;
  if (source_.active()) {
    source_.append({RecordHead::kMessage, message.sender.value, message.view, message.sequence,
                    message.bytes.size()},
                   message.bytes);
  }
  upcalls_.deliver(message);
}

void GroupCore::tell_view() {
  view_is_told_ = true;
  if (upcalls_.view) upcalls_.view(view_);
}

// --- progress ---------------------------------------------------------------------------------

bool GroupCore::progress() {
  if (in_progress_) return false;
  struct Guard {
    bool& flag;
    explicit Guard(bool& f) noexcept : flag(f) { flag = true; }
    ~Guard() { flag = false; }
  } guard(in_progress_);
  bool busy = !view_is_told_;
  if (busy) tell_view();
  if (++door_rounds_ % kLookInterval == 0) busy = answer_newcomers() || busy;
  if (now_) {
    busy = (!wedged_ && reads_.ask(*now_)) || busy;
    busy = (!source_.behind() && now_->messages.evaluate()) || busy;
    busy = (!wedged_ && reads_.evaluate(*now_)) || busy;
    if (look_is_due()) busy = look() || busy;
  } else if (joining_) {
    busy = go_on_joining() || busy;
  }
  return busy;
}

bool GroupCore::look_is_due() noexcept {
  const std::uint32_t failures = group_.failures();
  if (!wedged_ && !source_.active() && failures == failures_seen_ &&
      ++rounds_ % kLookInterval != 0) {
    return false;
  }
  failures_seen_ = failures;
  return true;
}

bool GroupCore::answer_newcomers() {
  return door_.answer_newcomers(patience_with_one(), [this] {
    if (now_) watch_.look(*now_);
  });
}

std::chrono::milliseconds GroupCore::patience_with_one() const noexcept {
  return options_.patience.count() != 0 ? options_.patience
                                        : group_.fabric().config().start_timeout;
}

bool GroupCore::look() {
  watch_.look(*now_);
  if (!wedged_ && must_wedge()) wedge();
  lead();
  bool busy = now_->agreement.evaluate();
  removed_ = is_given_up() || now_->agreement.state() == sst::AgreementState::kRemoved;
  busy = follow() || busy;
  if (now_) busy = serve_joiner() || busy;
  return busy;
}

// --- what is known ----------------------------------------------------------------------------

GroupState GroupCore::state() const noexcept {
  if (is_given_up()) return GroupState::kRemoved;
  if (!now_) return joining_ ? GroupState::kJoining : GroupState::kOutside;
  const sst::AgreementState decides = now_->agreement.state();
  if (decides == sst::AgreementState::kRemoved) return GroupState::kRemoved;
  std::uint64_t here = now_->included();
  for (std::uint16_t row = 0; row < now_->size(); ++row) {
    if (now_->frozen(row)) here &= ~bit(row);
  }
  if (decides == sst::AgreementState::kNoQuorum || !now_->is_majority(here)) {
    // Those that seem lost may be in the next view already, whose decision has come but is not
    // followed yet.
    return now_->agreement.behind() ? GroupState::kChanging : GroupState::kMajorityLost;
  }
  return wedged_ ? GroupState::kChanging : GroupState::kWorking;
}

void GroupCore::set_persisted(std::uint64_t next) noexcept {
  if (next <= persisted_) return;
  persisted_ = next;
  if (now_) now_->state.set(&ViewRow::persisted, persisted_);
}

std::uint64_t GroupCore::persisted_by_all() const noexcept {
  if (!now_) return 0;
  std::uint64_t least = persisted_;
  for (std::uint16_t row = 0; row < now_->size(); ++row) {
    least = std::min(least, now_->state.get({row}, &ViewRow::persisted));
  }
  return least;
}

std::string GroupCore::describe() const {
  std::string text =
      fmt::format("process {} of group {}: {}, view {}, next sequence {}", process().value,
                  options_.name, to_string(state()), view_.id, next_sequence_);
  for (std::uint16_t row = 0; now_ && row < now_->size(); ++row) {
    const dsfabric::ProcessId member = now_->view.members[row];
    const Standing standing = now_->standing(row);
    text += fmt::format("; member {}{}{}", member.value,
                        !now_->agreement.includes(member) ? " removed"
                        : now_->frozen(row)               ? " gone"
                                                          : "",
                        standing.leaving ? " leaving" : "");
    if (wedged_) {
      text += fmt::format(" wedged {} made {} broken {}", standing.wedged, standing.made,
                          standing.broken);
    }
  }
  return text;
}

}  // namespace groups::detail
