// SPDX-License-Identifier: MIT
// Multicast of small messages: rings of slots, written one-sided, with counters in a table.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "dsfabric/detail/object_bytes.hpp"
#include "sst/detail/multicast_core.hpp"
#include "sst/detail/require_upcall.hpp"

namespace sst {

/// Small messages from some members to all (Derecho lecture, slides 9 and 13). Each member has a
/// ring of slots for each sender, into which the sender writes; columns of a table say how far
/// everybody is (MulticastRow).
///
///     sst::Multicast multicast{group, {.order = sst::Order::kByTurns, .max_message = 16},
///                              [&](const sst::Message& message) { ... }};
///     if (multicast.try_send(Update{...}) == sst::SendStatus::kAccepted) ...
///     while (...) multicast.evaluate();
///
/// What is promised:
///  1. Each member delivers the messages of a sender once, in their order, without a gap, as they
///     were sent.
///  2. kByTurns: all members deliver all messages in the same order, their own included. A message
///     is delivered only when every member has received it, and everything before it (it is
///     *stable*). A sender that has nothing to send holds nobody up, as long as it evaluates: it
///     takes its turns by null messages, which nobody is shown.
///  3. A sender has at most `slots` messages on their way. The slowest member gives slots back: one
///     that does not evaluate, or is stopped, holds the senders up (kFull), and loses nothing.
///
/// What holds when a member dies, or ends its Multicast (groups::OrderedGroup goes on with a view).
/// As everywhere, who is gone is the belief of this process (Table::frozen), or what the member
/// itself said.
///  4. kUnordered: the others go on without it. What it sent last may have come to some of them and
///     not to others. A message is delivered by all that live, if its sender does.
///  5. kByTurns: the order ends, for without agreement nobody can say what the dead have received.
///     Sending answers kStopped, and why_stopped() says why, in words. What is stable by the rows
///     that are here is still delivered. So the survivors have delivered the same messages in the
///     same order, but one may have come further than another; whatever anybody has delivered, dead
///     or alive, has come to all survivors. Nothing else is delivered any more.
///  6. Nothing here waits: no call hangs, whoever is dead or stopped. A member that is stopped, and
///     not taken for dead, is waited for by its senders (promise 3).
///
/// Messages that are committed are sent together, by flush(), by evaluate(), or when there are many
/// of them; so one write carries one message when there is little to do, and many when there is
/// much. Receivers tell in the same way: at once when they have nothing else to do.
///
/// Owner thread only: the one that evaluates. `Deliver` is called on it as deliver(const Message&),
/// and may send by the functions that begin with try_; evaluate() in it does nothing. What it
/// throws comes out of evaluate(), and the message counts as delivered.
template <class Deliver>
class Multicast {
  static_assert(std::is_invocable_v<Deliver&, const Message&>,
                "cariama: a Multicast delivers by a function of a const sst::Message&");

 public:
  /// Made by all its members, with the same options, as Table. Throws as Table, and Error for
  /// options that are not possible or not the same at all members, and for a `deliver` that is an
  /// empty std::function or a null pointer. Setup only.
  Multicast(TableGroup& group, const MulticastOptions& options, Deliver deliver)
      : core_(group, (detail::require_upcall(deliver, options), options)),
        deliver_(std::move(deliver)) {}
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;
  /// Waits for nobody. The others find this member gone; so with kByTurns wait first until all have
  /// delivered what they shall.
  ~Multicast() = default;

  // --- sending --------------------------------------------------------------------------------
  /// A slot for a message of so many bytes, to be built in place and then committed. Without a
  /// commit, or with an evaluate() before it, there is no message. The slot is aligned to 16 bytes.
  /// Owner thread only; never waits.
  [[nodiscard]] Reservation try_reserve(std::uint32_t bytes) noexcept {
    return core_.try_reserve(bytes);
  }
  /// The message in the slot is complete. False: nothing is reserved. Owner thread only.
  bool commit() noexcept { return core_.commit(); }
  /// Copies a message into a slot and commits it. Owner thread only; never waits.
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
    return try_send(dsfabric::detail::ObjectBytes<T>(message).data(), sizeof message);
  }
  /// Posts what is committed, without waiting for more. True when there was anything. Owner thread
  /// only.
  bool flush() noexcept { return core_.flush(); }

  // --- progress -------------------------------------------------------------------------------
  /// Makes progress once: posts, takes turns, delivers what can be delivered (at most a quarter of
  /// a ring of each sender, with kUnordered), gives slots back, runs the predicates of table().
  /// True when something happened. Does not wait.
  bool evaluate() { return core_.evaluate(deliver_); }
  /// evaluate() as work of Thread::progress(), or for a PollingThread.
  dsfabric::ProgressHook hook() noexcept {
    return {[](void* self) { return static_cast<Multicast*>(self)->evaluate(); }, this};
  }

  // --- the end of an order, for layers with views (kByTurns) ------------------------------------
  /// This member sends and receives no more, and evaluate() does nothing. What it has received
  /// stays as it is, and as the others have been told: all positions below the result.
  std::uint64_t wedge() noexcept { return core_.wedge(); }
  /// After wedge(): delivers what is left of the positions below `end`, which is at most what
  /// wedge() answered. The caller knows that all others who go on have received them (an agreement
  /// says so). What a delivery throws comes out; call it again for the rest.
  void deliver_until(std::uint64_t end) { core_.deliver_until(deliver_, end); }
  /// Calls visit(bytes, size) for each message of this process that was not delivered here, in
  /// their order.
  template <class Visit>
  void for_each_undelivered(Visit visit) const {
    core_.for_each_undelivered(visit);
  }

  // --- what is known --------------------------------------------------------------------------
  /// Messages committed by this process so far; with kByTurns its null messages count, too.
  std::uint64_t sent() const noexcept { return core_.sent(); }
  /// kByTurns: all positions below this one were delivered here.
  std::uint64_t delivered() const noexcept { return core_.delivered(); }
  /// The first so many of sent() were delivered by all members that are not gone, as far as they
  /// have said.
  std::uint64_t delivered_by_all() const noexcept { return core_.delivered_by_all(); }
  /// Bytes of the largest message.
  std::uint32_t max_message() const noexcept { return core_.max_message(); }
  /// The member failed or ended its Multicast, as this process knows since its last idle round.
  bool gone(MemberId member) const noexcept { return core_.gone(member); }
  /// kByTurns: a member is gone, and the order has ended.
  bool stopped() const noexcept { return core_.stopped(); }
  /// Why, in words; empty when it has not. Allocates.
  std::string why_stopped() const { return core_.why_stopped(); }
  /// The counters. Predicates on them, and Table::on_failure, run in evaluate(): for example
  /// `table().when_grows([](const auto& t) { return t.min(&MulticastRow::received); },
  /// std::uint64_t{0}).deliver(...)` gets every range of positions that has become stable. Nobody
  /// else sets or evaluates it.
  Table<MulticastRow>& table() noexcept { return core_.table(); }
  /// The counters.
  const Table<MulticastRow>& table() const noexcept { return core_.table(); }

 private:
  detail::MulticastCore core_;
  Deliver deliver_;
};

}  // namespace sst
