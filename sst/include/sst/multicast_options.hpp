// SPDX-License-Identifier: MIT
// What a user may choose about a Multicast, and what it hands out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dsfabric/ids.hpp"
#include "sst/member.hpp"

namespace sst {

/// In which order messages are delivered.
enum class Order : std::uint8_t {
  /// Those of one sender in their order, as soon as they are here; nothing among senders. A member
  /// does not deliver its own.
  kUnordered,
  /// All messages in one order at every member, the senders by turns, as soon as all members have
  /// received them. A member delivers its own, too.
  kByTurns,
};

/// What a user may choose about a Multicast. The same at every member.
struct MulticastOptions {
  /// In the order of rows; empty: all processes of the job.
  std::vector<dsfabric::ProcessId> members = {};
  /// Members that send, in the order of their turns; empty: all members. Every member receives.
  std::vector<dsfabric::ProcessId> senders = {};
  /// In which order messages are delivered.
  Order order = Order::kUnordered;
  /// Bytes of the largest message, 1 to kMaxMessage. Up to 56 a message and its counter are one
  /// cache line at most, and one write where the device places bytes in ascending order.
  std::uint32_t max_message = 56;
  /// Messages of a sender that may be on their way: a power of two, kMinSlots to kMaxSlots; 0: as
  /// many as kRingBytes hold.
  std::uint32_t slots = 0;
  /// For messages, and to distinguish multicasts that are equal in all else.
  std::string name = "multicast";
  /// As TableOptions::give_up.
  std::function<bool()> give_up = {};
};

/// What became of an attempt to send.
enum class SendStatus : std::uint8_t {
  /// The message is sent, or there is a slot for it.
  kAccepted,
  /// All slots are in use: some member has not delivered what is in the oldest. Try again after
  /// evaluate().
  kFull,
  /// The message is larger than MulticastOptions::max_message, or empty.
  kBadSize,
  /// This process is no sender.
  kNoSender,
  /// A member is gone, and the order of turns has ended: see Multicast::why_stopped.
  kStopped,
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

/// A message, as it is delivered.
struct Message {
  /// Who sent it.
  MemberId sender;
  /// How many bytes.
  std::uint32_t size;
  /// The bytes, in the slot: only until the delivery returns.
  const std::byte* data;
  /// kUnordered: from 0, without a gap for each sender. kByTurns: the position in the order, which
  /// is the same at all members; it only grows, and skips turns in which nothing was sent.
  std::uint64_t number;
};

}  // namespace sst
