// SPDX-License-Identifier: MIT
// Invariants of the workload groups.
#include "groups_course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "dtutils/simulation.hpp"

namespace simulate {
namespace {

std::uint64_t chained(std::uint64_t state, std::uint32_t sender, std::uint64_t number) {
  return (state ^ (std::uint64_t{sender} << 32 | number)) * 0x9e3779b97f4a7c15u + (state >> 31) + 1;
}

}  // namespace

std::uint64_t GroupCourse::state_before(std::uint64_t next) const {
  return next < 2 || next > end() ? 0 : order_[next - 2].state;
}

std::uint64_t GroupCourse::delivered_of(std::uint32_t sender) const {
  return static_cast<std::uint64_t>(
      std::ranges::count(order_, sender, [](const Message& message) { return message.sender; }));
}

void GroupCourse::delivers(std::uint32_t node, const groups::Delivery& message,
                           std::uint64_t number) {
  Member& member = members[node];
  const std::uint32_t sender = message.sender.value;
  if (message.sequence != member.next) {
    violated(fmt::format("node {} delivers message {} where message {} comes", node,
                         message.sequence, member.next));
    return;
  }
  ++member.next;
  if (member.view != 0 && message.view != member.view) {
    violated(fmt::format("node {} delivers a message of view {} in view {}", node, message.view,
                         member.view));
  }
  // What is delivered in a view is before the beginning of the next one, at all that go on.
  const auto later = views_.find(message.view + 1);
  if (later != views_.end() && message.sequence >= later->second.sequence) {
    violated(fmt::format("node {} delivers message {} in view {}, which others ended at {}", node,
                         message.sequence, message.view, later->second.sequence));
  }
  if (message.sequence < end()) {
    const Message& known = order_[message.sequence - 1];
    if (known.sender != sender || known.number != number || known.view != message.view) {
      violated(
          fmt::format("message {} is {} of node {} in view {} at node {}, and {} of node {} in "
                      "view {} elsewhere",
                      message.sequence, number, sender, message.view, node, known.number,
                      known.sender, known.view));
    }
    return;
  }
  if (const std::uint64_t before = delivered_of(sender); number != before) {
    violated(fmt::format("message {} is {} of node {}, of which {} came before", message.sequence,
                         number, sender, before));
  }
  order_.push_back({message.view, sender, number, chained(state_before(end()), sender, number)});
}

void GroupCourse::views(std::uint32_t node, const groups::View& view) {
  Member& member = members[node];
  member.is_member =
      std::ranges::find(view.members, dsfabric::ProcessId{static_cast<std::uint16_t>(node)}) !=
      view.members.end();
  if (member.view != 0 && view.id != member.view + 1) {
    violated(fmt::format("node {} gets view {} after view {}", node, view.id, member.view));
  }
  member.view = member.is_member ? view.id : 0;
  // The last one of a process that left has no members.
  if (!member.is_member) return;
  const auto [known, first] = views_.try_emplace(view.id, Beginning{member.next, view.members});
  if (first && !order_.empty() && order_.back().view < view.id && member.next != end()) {
    violated(fmt::format("view {} begins at {} at node {}, and others have delivered more", view.id,
                         member.next, node));
  }
  if (known->second.sequence != member.next || known->second.members != view.members) {
    violated(
        fmt::format("view {} has {} members from {} on at node {}, and {} from {} on elsewhere",
                    view.id, view.members.size(), member.next, node, known->second.members.size(),
                    known->second.sequence));
  }
}

void GroupCourse::restores(std::uint32_t node, std::uint64_t state, std::uint64_t next) {
  if (next > end() || state != state_before(next)) {
    violated(fmt::format("node {} gets a state that is not that before message {}", node, next));
  }
  members[node].next = next;
  members[node].view = 0;
}

void GroupCourse::logged(std::uint32_t node, const groups::LogRecord& record) {
  if (record.sequence == 0 || record.sequence >= end()) {
    return violated(fmt::format("the log of node {} has message {}, which nobody has delivered",
                                node, record.sequence));
  }
  const Message& message = order_[record.sequence - 1];
  std::uint64_t found = 0;
  if (record.bytes.size() >= sizeof found) {
    std::memcpy(&found, record.bytes.data(), sizeof found);
  }
  if (record.view != message.view ||
      found != (std::uint64_t{message.sender} << 32 | message.number)) {
    violated(fmt::format("message {} is another one in the log of node {}", record.sequence, node));
  }
}

bool GroupCourse::all_quiet() const {
  std::uint64_t next = 0;
  for (std::uint32_t node = 0; node < members.size(); ++node) {
    const Member& member = members[node];
    if (member.ended || dtutils::Simulation::current()->crashed(node)) continue;
    if (!member.begun || !member.quiet) return false;
    if (!member.is_member || member.lost) continue;
    if (next != 0 && member.next != next) return false;
    next = member.next;
  }
  return true;
}

bool GroupCourse::nobody_lets_in(const dsfabric::Fabric& who) const {
  for (std::uint16_t node = 0; node < members.size(); ++node) {
    const Member& member = members[node];
    const bool lives =
        !member.ended && !dtutils::Simulation::current()->crashed(node) && !who.failed({node});
    if (lives && member.is_member && !member.lost) return false;
  }
  return true;
}

}  // namespace simulate
