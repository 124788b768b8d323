// SPDX-License-Identifier: MIT
// The restart of all: summaries of all logs, the choice, and what the others lack.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "dtutils/error.hpp"
#include "groups/durable_state.hpp"
#include "groups/ordered_group.hpp"
#include "sst/pace.hpp"
#include "sst/table.hpp"

namespace groups {
/// One restart. All members see the same messages in the same order, so all choose the same.
class RestartMeeting {
 public:
  RestartMeeting(DurableState& durable, sst::TableGroup& tables)
      : durable_(durable),
        me_(tables.fabric().process().value),
        all_(tables.fabric().founders()),
        pace_(tables.fabric()),
        ends_(tables),
        members_(all_),
        group_(tables,
               {.max_message = kMaxMessage,
                .patience = durable.options_.restart_patience,
                .name = "restart"},
               {.deliver = [this](const Delivery& message) { deliver(message); },
                .view = [this](const View& view) { check(view); }}) {}

  Restart run() {
    send_summary();
    pump([&] { return summaries_ == all_; });
    choose();
    if (me_ == chosen_) {
      durable_.replay(end_);
      send_what_others_lack();
    } else if (!needs_state(me_)) {
      durable_.log_.cut(from(me_));
      next_ = from(me_);
      durable_.replay(next_);
      take_early();
    } else {
      take_early();
    }
    pump([&] { return complete(); });
    durable_.wait_for_log();
    durable_.mark();
    send({PartKind::kReady, 1, 0, 0}, {});
    pump([&] { return ready_ == all_; });
    ends_.set(&End::reached, true);
    pump([&] { return ends_.all(&End::reached); });
    return {members_[chosen_].log.extent.view + 1, end_};
  }

 private:
  static constexpr std::uint32_t kMaxMessage = 32 << 10;

  enum class PartKind : std::uint32_t { kNoLog, kSummary, kRecord, kState, kReady };

  /// Before the bytes of a message; what is longer than a message comes in parts.
  struct Part {
    PartKind kind;
    /// 1: no more parts follow.
    std::uint32_t last;
    /// Of the checkpoint, or of the record.
    std::uint64_t view;
    std::uint64_t sequence;
  };
  static_assert(sizeof(Part) == 24);

  /// Says when a member has seen all others ready, and needs nobody any more.
  struct End {
    bool reached;
  };

  struct Member {
    bool has_log = false;
    LogSummary log;
    std::uint64_t checkpoint = 0;
    /// Parts so far.
    std::vector<std::byte> parts;
  };
  struct Whole {
    Part part;
    std::vector<std::byte> bytes;
  };

  [[noreturn]] void give_up(const std::string& why) const {
    throw dtutils::Error("restart of a group", why, "start all members again");
  }

  void check(const View& view) const {
    if (!view.left.empty() && ready_ < all_) {
      give_up(fmt::format("process {} is gone", view.left.front().value));
    }
  }

  template <class Done>
  void pump(const Done& done) {
    while (!done()) {
      while (!outbox_.empty() &&
             group_.try_send(outbox_.front().data(),
                             static_cast<std::uint32_t>(outbox_.front().size())) ==
                 SendStatus::kAccepted) {
        outbox_.pop_front();
      }
      group_.flush();
      const bool did = group_.progress();
      const GroupState state = group_.state();
      if (state != GroupState::kWorking && state != GroupState::kChanging && ready_ < all_ &&
          group_.view().id != 0) {
        give_up(group_.describe());
      }
      pace_.after(did | ends_.evaluate());
    }
  }

  void send(Part part, std::span<const std::byte> bytes) {
    do {
      const std::size_t size = std::min<std::size_t>(bytes.size(), kMaxMessage - sizeof part);
      part.last = size == bytes.size();
      std::vector<std::byte> message(sizeof part + size);
      std::memcpy(message.data(), &part, sizeof part);
      if (size != 0) std::memcpy(message.data() + sizeof part, bytes.data(), size);
      outbox_.push_back(std::move(message));
      bytes = bytes.subspan(size);
    } while (part.last == 0);
    // Not more memory than that.
    if (outbox_.size() > 64) pump([&] { return outbox_.size() <= 64; });
  }

  void send_summary() {
    const std::uint64_t next = durable_.checkpoint();
    if (!durable_.had_log_) return send({PartKind::kNoLog, 1, 0, 0}, {});
    send({PartKind::kSummary, 1, durable_.checkpoint_view_, next},
         to_bytes(summary(durable_.log_)));
  }

  void deliver(const Delivery& message) {
    Part part;
    std::memcpy(&part, message.bytes.data(), sizeof part);
    Member& member = members_[message.sender.value];
    const auto bytes = message.bytes.subspan(sizeof part);
    member.parts.insert(member.parts.end(), bytes.begin(), bytes.end());
    if (part.last == 0) return;
    const std::vector<std::byte> whole = std::exchange(member.parts, {});
    switch (part.kind) {
      case PartKind::kNoLog:
        ++summaries_;
        return;
      case PartKind::kSummary:
        member.has_log = true;
        member.checkpoint = part.sequence;
        member.log = from_bytes(whole);
        member.log.extent.view = std::max(member.log.extent.view, part.view);
        ++summaries_;
        return;
      case PartKind::kReady:
        ++ready_;
        return;
      case PartKind::kRecord:
      case PartKind::kState:
        if (me_ == message.sender.value) return;
        // It may come before this member has chosen.
        early_.push_back({part, whole});
        if (chosen_known_) take_early();
        return;
    }
  }

  void choose() {
    std::vector<std::optional<LogSummary>> logs(all_);
    const bool nothing = std::ranges::all_of(
        members_, [](const Member& member) { return member.log.extent.end == 0; });
    std::size_t come = 0;
    for (std::size_t i = 0; i < all_; ++i) {
      if (!members_[i].has_log && !nothing) continue;
      logs[i] = members_[i].log;
      ++come;
    }
    const std::optional<std::size_t> best = longest_log(logs);
    if (!best) {
      give_up(fmt::format("only {} of {} members have a log, and what others had is not known",
                          come, all_));
    }
    chosen_ = *best;
    end_ = members_[chosen_].log.extent.end;
  }

  std::uint64_t from(std::size_t member) const {
    return agrees_up_to(members_[member].log, members_[chosen_].log);
  }
  /// What it lacks is not in the chosen log, or it cannot go back so far.
  bool needs_state(std::size_t member) const {
    return from(member) < members_[chosen_].log.extent.first ||
           from(member) < members_[member].checkpoint;
  }

  void send_what_others_lack() {
    std::uint64_t first = end_;
    bool state = false;
    for (std::size_t i = 0; i < all_; ++i) {
      if (i == chosen_) continue;
      needs_state(i) ? state = true : (first = std::min(first, from(i)), true);
    }
    const std::uint64_t view = members_[chosen_].log.extent.view;
    if (state) send({PartKind::kState, 1, view, end_}, durable_.upcalls_.snapshot());
    if (first == end_) return;
    durable_.log_.replay(first, [&](const LogRecord& record) {
      send({PartKind::kRecord, 1, record.view, record.sequence}, record.bytes);
    });
  }

  void take_early() {
    chosen_known_ = true;
    for (; !early_.empty(); early_.pop_front()) {
      const auto& [part, bytes] = early_.front();
      if (part.kind == PartKind::kState) {
        if (!needs_state(me_)) continue;
        durable_.replace(bytes, part.view, part.sequence);
        next_ = part.sequence;
      } else if (!needs_state(me_) && part.sequence == next_) {
        durable_.upcalls_.apply({part.view, part.sequence, bytes});
        durable_.append_record(part.view, bytes);
        ++next_;
      }
    }
  }

  bool complete() const {
    return outbox_.empty() && (me_ == chosen_ || (chosen_known_ && next_ == end_));
  }

  DurableState& durable_;
  const std::size_t me_;
  const std::size_t all_;
  sst::Pace pace_;
  sst::Table<End> ends_;
  std::vector<Member> members_;
  std::deque<std::vector<std::byte>> outbox_;
  std::deque<Whole> early_;
  std::size_t summaries_ = 0;
  std::size_t ready_ = 0;
  bool chosen_known_ = false;
  std::size_t chosen_ = 0;
  std::uint64_t end_ = 0;
  /// The record that this member lacks first.
  std::uint64_t next_ = ~0ull;
  OrderedGroup group_;
};

Restart DurableState::restart(sst::TableGroup& tables) {
  RestartMeeting meeting(*this, tables);
  return meeting.run();
}

}  // namespace groups
