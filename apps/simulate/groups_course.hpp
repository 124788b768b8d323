// SPDX-License-Identifier: MIT
// What the nodes of the workload groups deliver, and what must hold of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "groups/groups.hpp"

namespace simulate {

/// The one order of a group, and how far each node is in it; the nodes share it.
class GroupCourse {
 public:
  explicit GroupCourse(std::uint32_t nodes) : members(nodes) {}

  /// A message, of which `number` says the how many-th of its sender it is.
  void delivers(std::uint32_t node, const groups::Delivery& message, std::uint64_t number);
  void views(std::uint32_t node, const groups::View& view);
  /// The hash of all messages before `next`, which is the state, and a node that gets it.
  std::uint64_t state_before(std::uint64_t next) const;
  void restores(std::uint32_t node, std::uint64_t state, std::uint64_t next);
  /// A record of a log, behind `before` others of it.
  void logged(std::uint32_t node, const groups::LogRecord& record);

  /// Sequence of the first message that nobody has delivered.
  std::uint64_t end() const noexcept { return order_.size() + 1; }
  /// Of those that were delivered.
  std::uint64_t delivered_of(std::uint32_t sender) const;

  /// All that live wait for nothing, and members are equally far.
  bool all_quiet() const;

  /// No member that lives, as far as this process knows, can go on.
  bool nobody_lets_in(const dsfabric::Fabric& who) const;

  void violated(std::string how) {
    if (violation.empty()) violation = std::move(how);
  }

  struct Member {
    /// The sequence and the view that come next, and whether it is in one.
    std::uint64_t next = 1;
    std::uint64_t view = 0;
    /// Messages that were accepted from it.
    std::uint64_t sent = 0;
    /// It has begun; it waits for nothing; it can have no part in the group any more.
    bool begun = false;
    bool quiet = false;
    bool lost = false;
    bool is_member = false;
    bool ended = false;
    /// Below this one all is in its log.
    std::uint64_t persisted = 0;
  };
  std::vector<Member> members;
  /// All that live are quiet.
  bool over = false;
  /// Those that live come to an end, if all have begun.
  bool ends = true;
  std::string violation;

 private:
  struct Message {
    std::uint64_t view;
    std::uint32_t sender;
    std::uint64_t number;
    /// Of all messages up to this one.
    std::uint64_t state;
  };
  struct Beginning {
    std::uint64_t sequence;
    std::vector<dsfabric::ProcessId> members;
  };

  std::vector<Message> order_;
  std::map<std::uint64_t, Beginning> views_;
};

}  // namespace simulate
