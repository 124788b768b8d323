// SPDX-License-Identifier: MIT
// Workload groups: one order through deaths, pauses, suspicions, leaves and joins, and logs of it.
#include "groups/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "agreement_faults.hpp"
#include "dtutils/wait.hpp"
#include "group_logs.hpp"
#include "group_plan.hpp"
#include "group_tickets.hpp"
#include "sst/sst.hpp"
#include "watcher.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::uint32_t kGroupMessages = 12;
/// So long a node looks again and again, and so long it sleeps at most later on.
constexpr std::chrono::microseconds kShortIdle{50};
constexpr std::chrono::microseconds kLongestSleep{500};
/// Longest from one message of a node to its next one.
constexpr std::uint64_t kGroupPauseNs = 60'000;
/// Nodes give up after this virtual time.
constexpr std::chrono::seconds kGroupLimit{3};
/// So long a process tries to join when some may believe that it has failed, or it of others.
constexpr std::chrono::milliseconds kJoinPatience{100};
/// Who finds that it has lost the group believes it after so many looks.
constexpr std::uint32_t kLooks = 200;

/// One node.
class GroupNode {
 public:
  GroupNode(dsfabric::Fabric& fabric, const Run& run, GroupCourse& course, const GroupLogs& logs)
      : fabric_(fabric),
        run_(run),
        course_(course),
        logs_(logs),
        me_(fabric.process().value),
        mine_(course.members[me_]),
        plan_(fabric, run, course),
        tables_(fabric) {
    if (logs.any()) make_log(1);
    group_.emplace(tables_, group_options(run), upcalls());
    mine_.begun = true;
    const bool all = std::ranges::all_of(course.members, [](const auto& m) { return m.begun; });
    // What strikes then strikes those who have begun.
    if (all && run.strikes) course.ends &= strike(run.nodes);
  }

  void work() {
    dtutils::Deadline deadline(kGroupLimit);
    dtutils::Backoff backoff;
    std::chrono::nanoseconds sends_at{0};
    plan_.draw();
    while (!course_.over && !deadline.passed()) {
      plan_.suspect();
      plan_.come_and_go(*group_);
      bool busy = false;
      if (mine_.sent < kGroupMessages && simulated_.time() >= sends_at && send()) {
        busy = true;
        sends_at = in(kGroupPauseNs);
      }
      busy |= group_->progress();
      if (gone()) return;
      tickets_.look(*group_, mine_);
      if (log_) tell_persisted();
      mine_.quiet = is_quiet();
      mine_.lost = is_lost();
      course_.over = course_.all_quiet();
      wait(busy, backoff);
    }
    // Who has lost its majority waits for nothing: patience may do that to all. Others tell for
    // themselves.
    if (!course_.over && course_.ends && !run_.failures && !mine_.lost) {
      course_.violated(fmt::format("node {} waits: {}", me_, group_->describe()));
    }
  }

 private:
  /// Longer and longer, whatever others write meanwhile: who is cut off may never go on.
  void wait(bool busy, dtutils::Backoff& backoff) {
    const auto now = simulated_.time();
    if (busy) {
      busy_at_ = now;
      backoff.reset();
    } else if (const auto idle = now - busy_at_; idle < kShortIdle) {
      backoff.pause();
    } else {
      dtutils::sleep_for(std::min<std::chrono::nanoseconds>(idle / 16, kLongestSleep));
    }
  }

  bool gone() const { return simulated_.crashed(me_); }
  std::uint64_t below(std::uint64_t end) { return simulated_.random() % end; }
  std::chrono::nanoseconds in(std::uint64_t most) {
    return simulated_.time() + std::chrono::nanoseconds(below(most));
  }

  bool send() {
    const std::uint64_t number = mine_.sent;
    const auto bytes = static_cast<std::uint32_t>((1 + below(kMostGroupWords)) * sizeof number);
    const groups::Reservation slot = group_->try_reserve(bytes);
    if (!slot) return false;
    std::vector<std::uint64_t> words(bytes / sizeof number, std::uint64_t{me_} << 32 | number);
    std::memcpy(slot.data, words.data(), bytes);
    group_->commit();
    ++mine_.sent;
    return true;
  }

  groups::GroupUpcalls upcalls() {
    return {
        .deliver = [this](const groups::Delivery& message) { deliver(message); },
        .view =
            [this](const groups::View& view) {
              if (!gone()) course_.views(me_, view);
            },
        .snapshot =
            [this](std::uint64_t next) {
              if (!gone() && next != mine_.next) course_.violated("a state of another time");
              const std::uint64_t state = course_.state_before(next);
              std::vector<std::byte> bytes(sizeof state + run_.options.cluster.seed % 5 * 1'000);
              std::memcpy(bytes.data(), &state, sizeof state);
              return bytes;
            },
        .restore =
            [this](std::span<const std::byte> bytes, std::uint64_t next) {
              std::uint64_t state = 0;
              std::memcpy(&state, bytes.data(), sizeof state);
              if (gone()) return;
              course_.restores(me_, state, next);
              if (logs_.any()) make_log(next);
            }};
  }

  void deliver(const groups::Delivery& message) {
    if (gone()) return;
    std::vector<std::uint64_t> words(message.bytes.size() / sizeof(std::uint64_t));
    std::memcpy(words.data(), message.bytes.data(), message.bytes.size());
    const bool whole = !words.empty() && std::ranges::all_of(words, [&](std::uint64_t word) {
      return word == words[0] && word >> 32 == message.sender.value;
    });
    if (!whole) {
      return course_.violated(fmt::format("node {} got nothing, or parts of two messages", me_));
    }
    const bool wrong = run_.broken && me_ == 1 && message.sequence == kGroupMessages;
    course_.delivers(me_, message, (words[0] & UINT32_MAX) + (wrong ? 1 : 0));
    if (!log_) return;
    while (log_->try_append(message.view, message.bytes) == groups::AppendStatus::kFull) {
      dtutils::give_way();
    }
  }

  /// An empty one, for a member of which nobody had counted on the one before.
  void make_log(std::uint64_t next) {
    log_.reset();
    mine_.persisted = 0;
    logs_.empty(me_);
    log_.emplace(logs_.of(me_));
    log_->restart_at(next);
  }

  /// What all have made durable is in the logs of all.
  void tell_persisted() {
    if (const std::uint64_t now = log_->persisted(); now != mine_.persisted) {
      mine_.persisted = now;
      group_->set_persisted(now);
    }
    if (group_->state() != groups::GroupState::kWorking) return;
    const std::uint64_t all = group_->persisted_by_all();
    for (const dsfabric::ProcessId process : group_->view().members) {
      const GroupCourse::Member& member = course_.members[process.value];
      if (member.is_member && member.view == mine_.view && member.persisted < all) {
        course_.violated(fmt::format("node {} has {} in its log, and node {} was told {}",
                                     process.value, member.persisted, me_, all));
      }
    }
  }

  bool is_lost() const {
    return group_->state() == groups::GroupState::kMajorityLost ||
           group_->state() == groups::GroupState::kRemoved;
  }
  /// Whether it waits for nothing.
  bool is_quiet() {
    const groups::GroupState state = group_->state();
    if (is_lost()) return ++lost_looks_ > kLooks;
    lost_looks_ = 0;
    if (plan_.joins() && state == groups::GroupState::kOutside) return false;
    if (state == groups::GroupState::kJoining) {
      // With some that believe in their failure, or have little patience, it may be in vain.
      return course_.nobody_lets_in(fabric_) ||
             ((!course_.ends || has_patience(run_)) &&
              simulated_.time() > plan_.joined() + kJoinPatience);
    }
    if (state != groups::GroupState::kOutside && state != groups::GroupState::kWorking) {
      return false;
    }
    if (state == groups::GroupState::kWorking &&
        (mine_.sent < kGroupMessages || plan_.leaves() || group_->undelivered() != 0)) {
      return false;
    }
    if (course_.delivered_of(me_) != mine_.sent) {
      course_.violated(fmt::format("of {} messages of node {} {} were delivered", mine_.sent, me_,
                                   course_.delivered_of(me_)));
    }
    return true;
  }

  dsfabric::Fabric& fabric_;
  const Run& run_;
  GroupCourse& course_;
  const GroupLogs& logs_;
  dtutils::Simulation& simulated_ = *dtutils::Simulation::current();
  const std::uint32_t me_;
  GroupCourse::Member& mine_;
  GroupPlan plan_;
  std::uint32_t lost_looks_ = 0;
  std::chrono::nanoseconds busy_at_{0};
  Tickets tickets_{course_};
  sst::TableGroup tables_;
  std::optional<groups::Log> log_;
  std::optional<groups::OrderedGroup> group_;
};

}  // namespace

Outcome run_groups(const Run& run) {
  GroupCourse course(run.nodes);
  course.ends = !run.failures;
  const GroupLogs logs(run.options.cluster.seed % 3 == 0);
  const auto program = [&](dsfabric::Fabric& fabric) {
    const AtEnd ends([&, me = fabric.process().value] { course.members[me].ended = true; });
    GroupNode(fabric, run, course, logs).work();
  };
  const bool failures = run.failures || run.strikes;
  return run_checked({run.nodes, run.options, failures, run.strikes, run.broken}, program, [&] {
    logs.check(course);
    return course.violation;
  });
}

}  // namespace simulate
