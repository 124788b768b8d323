// SPDX-License-Identifier: MIT
// What a user may choose about an OrderedGroup, what it hands out, and what it answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dsfabric/ids.hpp"

namespace groups {

/// Members of a view, at most.
inline constexpr std::size_t kMaxGroupMembers = 64;

/// The processes that take part from one agreed point of the order to the next one.
struct View {
  /// Grows by one from view to view.
  std::uint64_t id = 0;
  /// In ascending order. Empty before the first view, and in the last view of a process that left.
  std::vector<dsfabric::ProcessId> members = {};
  /// Those that are not in the view before. In the first view: all.
  std::vector<dsfabric::ProcessId> joined = {};
  /// Those of the view before that are not in this one, dead or alive.
  std::vector<dsfabric::ProcessId> left = {};
};

/// A message, as it is delivered.
struct Delivery {
  /// The view that it is delivered in.
  std::uint64_t view;
  /// Its place in the order of all messages of the group: without a gap, the same at all members,
  /// also across views. The first one is GroupOptions::first_sequence.
  std::uint64_t sequence;
  /// Who sent it.
  dsfabric::ProcessId sender;
  /// Its bytes, only until the delivery returns.
  std::span<const std::byte> bytes;
};

/// What a user may choose about an OrderedGroup. The same at every process.
struct GroupOptions {
  /// Members of the first view; empty: all processes of the job, of an elastic one its founders.
  std::vector<dsfabric::ProcessId> members = {};
  /// Processes that may send while they are members; empty: all.
  std::vector<dsfabric::ProcessId> senders = {};
  /// Bytes of the largest message, 1 to sst::kMaxMessage.
  std::uint32_t max_message = 1024;
  /// As sst::MulticastOptions::slots.
  std::uint32_t slots = 0;
  /// A member that shows no progress for so long is suspected, as if it were dead: it is cut off
  /// and removed. 0: only those are suspected that the fabric calls failed, and a member that is
  /// stopped is waited for.
  std::chrono::milliseconds patience{0};
  /// The id of the first view, and the sequence of the first message: for a group that goes on
  /// where a log ends. A newcomer to an elastic job is told where the group is.
  std::uint64_t first_view = 1;
  /// See first_view.
  std::uint64_t first_sequence = 1;
  /// For messages, and to distinguish groups that are equal in all else.
  std::string name = "group";
};

/// What an OrderedGroup calls, inside of progress(). They do not call progress(). What they throw
/// comes out of progress(), and that call of theirs counts as made.
struct GroupUpcalls {
  /// A message, in the one order. May send. At a process that joins it also gets the messages
  /// between the state that it was given and its first view. Never empty.
  std::function<void(const Delivery& message)> deliver;
  /// A new view. All messages of the views before have been delivered. May send.
  std::function<void(const View& view)> view = {};
  /// The state that all messages with a sequence below `next` have made, as bytes for a process
  /// that joins. Empty: the state is no bytes. It may be called for joins that come to nothing.
  std::function<std::vector<std::byte>(std::uint64_t next)> snapshot = {};
  /// This process joins: what it has is replaced by this state, and the next message delivered has
  /// the sequence `next`. May come more than once, when the process that gives the state dies.
  std::function<void(std::span<const std::byte> state, std::uint64_t next)> restore = {};
};

/// What became of an attempt to send.
enum class SendStatus : std::uint8_t {
  /// The message is sent, or there is a slot for it.
  kAccepted,
  /// All slots are in use: some member has not delivered what is in the oldest. Try again after
  /// progress().
  kFull,
  /// The message is larger than GroupOptions::max_message, or empty.
  kBadSize,
  /// The view is changing. Try again after progress().
  kWedged,
  /// This process is a member that does not send (GroupOptions::senders).
  kNoSender,
  /// This process is no member: it has not joined, is leaving, has left, or was removed.
  kNotMember,
};

/// A slot for a message, in the memory that it is sent from.
struct Reservation {
  /// Where to build it; nullptr unless accepted.
  std::byte* data;
  /// Whether there is a slot.
  SendStatus status;
  /// Whether there is a slot.
  explicit operator bool() const noexcept { return data != nullptr; }
};

/// Where a process stands.
enum class GroupState : std::uint8_t {
  /// It is no member, and does not try to become one: it never joined, or it left.
  kOutside,
  /// It joins: it waits for members, for the state, or for the view that takes it in.
  kJoining,
  /// A member of a view in which messages are delivered.
  kWorking,
  /// A member of a view that is ending: no messages are sent until the next one.
  kChanging,
  /// A member that cannot go on: as far as it knows, no majority of its view lives and can be
  /// reached. What was delivered stays true; nothing is delivered any more. So says also a process
  /// that was stopped, and that the others removed and cut off before they could tell it.
  kMajorityLost,
  /// The others have agreed that this process is gone, and go on without it. It stays so.
  kRemoved,
};
/// In words, for people: "changing view". Any thread.
const char* to_string(GroupState state) noexcept;

}  // namespace groups
