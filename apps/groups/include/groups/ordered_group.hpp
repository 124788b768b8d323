// SPDX-License-Identifier: MIT
// A group that delivers the same messages in the same order at all members, through deaths, leaves
// and joins: virtual synchrony.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "dsfabric/thread.hpp"
#include "groups/group_options.hpp"
#include "sst/table_group.hpp"

namespace groups {

namespace detail {
class GroupCore;
}  // namespace detail

/// Atomic multicast with views (Derecho, TOCS 2019, sections 3 and 4), on sst::Multicast by turns
/// and sst::Agreement. The processes of the job are members or outside; views say who is what, and
/// all members go through the same views.
///
///     groups::OrderedGroup group{tables, {.max_message = 64},
///                                {.deliver = [&](const groups::Delivery& m) { apply(m.bytes); },
///                                 .snapshot = [&](auto) { return bytes_of(state); },
///                                 .restore = [&](auto bytes, auto) { state = from(bytes); }}};
///     if (group.try_send(change) == groups::SendStatus::kAccepted) ...
///     while (...) group.progress();
///
/// What is promised:
///  1. Order: all members deliver the same messages with the same sequences, without a gap and none
///     twice; those of one sender in the order in which it sent them.
///  2. Virtual synchrony: processes that go from one view to the next have delivered the same
///     messages in it. What anybody has delivered, though it died or was removed afterwards, was
///     delivered in the same place by all that go on.
///  3. A message that was accepted is delivered, if its sender stays a member of views that go on;
///     when a view ends before all have it, it is sent again in the next one, without the sender's
///     help and in the same order. Of a sender that dies, what it sent last may be lost, to
///     all members.
///  4. A view ends when a member dies, is suspected, or leaves, or when a process has been brought
///     up to date and joins. The next view needs more than half of the members of the one before:
///     those that live, and those that leave in good order. Without them no further view comes,
///     and state() is kMajorityLost. So there is one sequence of views, also with partitions.
///  5. A member that was removed although it lives is cut off before the others go on: what it
///     writes afterwards comes to nobody. It delivers nothing that the others have not delivered,
///     and learns of it from state().
///  6. A process that joins is given the state of one member while the group goes on, and the
///     messages since; the view that takes it in is agreed on when it is nearly up to date. When it
///     is shown that view, its state is what the members of the view before had at its end.
///
/// Who is dead is the belief of each process (fabric().failed(), or GroupOptions::patience).
/// Beliefs only start a change of the view; what it is, is decided by sst::Agreement among the
/// members of the old one.
///
/// Made by all processes of the job, members or not, on the thread that will use it: a collective;
/// in an elastic job one of its founders. A newcomer makes it when it comes: it waits until each
/// process that is there has answered in progress(), and is outside. It may join() as others.
/// Owner thread only, all of it.
class OrderedGroup {
 public:
  /// A collective of all processes of the job, with the same options. The first view is there when
  /// progress() has run its upcall. Throws as sst::Table, and Error for options that are not
  /// possible or not the same everywhere (at a newcomer, only there), and without an upcall
  /// `deliver`. `tables` outlives it. Setup only.
  OrderedGroup(sst::TableGroup& tables, const GroupOptions& options, GroupUpcalls upcalls);
  OrderedGroup(const OrderedGroup&) = delete;
  OrderedGroup& operator=(const OrderedGroup&) = delete;
  /// Waits for nobody. To the others, a member that ends it without leave() is gone, as if dead.
  ~OrderedGroup();

  // --- sending --------------------------------------------------------------------------------
  /// A slot for a message of so many bytes, to be built in place and then committed. Without a
  /// commit, or with progress() before it, there is no message. Never waits.
  [[nodiscard]] Reservation try_reserve(std::uint32_t bytes) noexcept;
  /// The message in the slot is complete. False: nothing is reserved.
  bool commit() noexcept;
  /// Copies a message into a slot and commits it. Never waits.
  [[nodiscard]] SendStatus try_send(const void* message, std::uint32_t bytes) noexcept {
    const Reservation slot = try_reserve(bytes);
    if (!slot) return slot.status;
    std::memcpy(slot.data, message, bytes);
    commit();
    return SendStatus::kAccepted;
  }
  /// The same for plain data.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] SendStatus try_send(const T& message) noexcept {
    return try_send(&message, sizeof message);
  }
  /// Posts what is committed, without waiting for more. True when there was anything.
  bool flush() noexcept;

  // --- progress -------------------------------------------------------------------------------
  /// Makes progress once: sends, delivers, watches the members, goes on with a change of the view,
  /// gives state to a process that joins. True when something happened. It does not wait, except
  /// where it makes the tables of the next view: then it waits for the members of it, at most for
  /// dsfabric::Config::start_timeout (or twice `patience`), and any of their deaths ends that.
  bool progress();
  /// progress() as work of Thread::progress().
  dsfabric::ProgressHook hook() noexcept {
    return {[](void* self) { return static_cast<OrderedGroup*>(self)->progress(); }, this};
  }

  // --- reads without messages -----------------------------------------------------------------
  /// A ticket for reads that have come by now: they may run here when readable() has reached it,
  /// and are linearizable then: they see all that any member had delivered before this call.
  /// Costs a round of one-sided writes, no message; tickets taken until the next flush() or
  /// progress() share one. Never waits.
  std::uint64_t begin_read() noexcept;
  /// Reads with this ticket and earlier ones may run. It does not grow when a majority of the view
  /// does not answer, nor at a process that is no member, or is removed. While a view changes,
  /// tickets wait for the next one.
  std::uint64_t readable() const noexcept;

  // --- coming and going -----------------------------------------------------------------------
  /// This process is outside, and wants to become a member: progress() does the rest, and the
  /// upcall `view` tells that it is one. Nothing happens in the other states.
  void join() noexcept;
  /// This member wants to leave. It sends no more; when what it sent is delivered, a view without
  /// it is agreed on, and its own upcall `view` gets that view. Then it is outside, and may join
  /// again.
  void leave() noexcept;

  // --- what is known --------------------------------------------------------------------------
  /// Where this process stands.
  GroupState state() const noexcept;
  /// The last view that the upcall was called for; id 0 before the first one.
  const View& view() const noexcept;
  /// The sequence that the next message delivered here will have.
  std::uint64_t next_sequence() const noexcept;
  /// Messages that were accepted here and not yet delivered here.
  std::uint64_t undelivered() const noexcept;
  /// Bytes of the largest message.
  std::uint32_t max_message() const noexcept;
  /// This process.
  dsfabric::ProcessId process() const noexcept;

  // --- durability -----------------------------------------------------------------------------
  /// Tells the others that this member has made all messages with a sequence below `next` durable,
  /// as it defines that. Only grows.
  void set_persisted(std::uint64_t next) noexcept;
  /// All members of the view have said so of all messages with a sequence below this one.
  std::uint64_t persisted_by_all() const noexcept;

  /// In words: the view, what it waits for, who is missing. For errors and status pages; allocates.
  std::string describe() const;

 private:
  std::unique_ptr<detail::GroupCore> core_;
};

}  // namespace groups
