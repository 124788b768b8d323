// SPDX-License-Identifier: MIT
// The constants of the layer that are no settings, with the relations among them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "dsfabric/message.hpp"
#include "dsfabric/send_space.hpp"

namespace dsfabric {

/// Raise it with every change of a wire format: processes of another version are refused.
inline constexpr std::uint32_t kProtocolVersion = 8;

/// Queue pairs between two processes, where nobody says how many.
inline constexpr std::uint32_t kMaxQueuePairs = 4;

/// Connections of a process to others, where neither the settings nor the device say less.
inline constexpr std::uint32_t kMaxConnections = 4096;
/// Who waits for a connection looks again after so long, if no letter comes: at first, and later.
inline constexpr std::chrono::milliseconds kHearAgain{1};
inline constexpr std::chrono::milliseconds kHearAgainAtMost{32};
/// Sleeps at most of who waits for the first answer on a new connection, before it waits as always.
inline constexpr unsigned kFirstAnswerSleeps = 64;
/// How long what was posted on a connection may take to end that is to be closed, and how long one
/// is left alone that could not be closed.
inline constexpr std::chrono::milliseconds kClosingPatience{50};
inline constexpr std::chrono::milliseconds kClosingPause{200};
/// How long a farewell may take that has arrived: until the threads that take messages in, which
/// may have no core just now, come to it.
inline constexpr std::chrono::milliseconds kFarewellLimit{10'000};

/// Messages that one progress() runs at most, so that its caller gets to look at what it waits for.
inline constexpr unsigned kProgressBatch = 16;
/// Messages that a worker sends between two looks at what came meanwhile. Half of what one look may
/// run, so that who is sent as much as it sends catches up.
inline constexpr unsigned kSendsPerLook = kProgressBatch / 2;
/// A thread that finds messages each time that it looks polls for what it has sent so seldom.
inline constexpr std::uint32_t kBusyPerPoll = 4;

/// Bytes of each worker that one round of a gathering collective carries.
inline constexpr std::size_t kGatherBytes = 64;
/// In one round of a collective a process hears of kCollectiveRadix - 1 others; after so many
/// rounds, of 2^16 processes. Each partner of a round is a connection that the first collective
/// makes: with 16 they are 60 in a job of 256 processes, and with 4 they are 24.
inline constexpr std::uint32_t kCollectiveRadix = 4;
inline constexpr unsigned kCollectiveRounds = 8;
static_assert(kCollectiveRadix == 1u << 2 && 2 * kCollectiveRounds >= 16);
/// So many processes have one round, in which each hears of all others: where they share cores,
/// each round costs a turn of all of them.
inline constexpr std::uint32_t kOneRound = 16;
static_assert(kOneRound - 1 <= kCollectiveRounds * (kCollectiveRadix - 1), "their flags have room");
/// Groups that a process is in at once.
inline constexpr std::size_t kMaxGroups = 1024;
/// Looks at a flag between two calls of progress() in a collective.
inline constexpr unsigned kFlagLooks = 8;
/// How long a word of a collective may be half written.
inline constexpr std::chrono::milliseconds kWordPatience{500};
/// Who is told by another process that collectives are over by a failure waits so long to see it by
/// itself, so that Fabric::failed() says what PeerFailed said. A death is seen in that time.
inline constexpr std::chrono::milliseconds kRevocationPatience{1000};

/// Synchronizers that may be tied to the life of peers at once, in one process.
inline constexpr std::uint32_t kPendingSlots = 4096;
/// Requests to other processes (allocation, names) that one process may await at once.
inline constexpr std::uint32_t kReplySlots = 64;

/// Time that a dying connection gets to finish what was posted on it.
inline constexpr std::chrono::milliseconds kDrainTimeout{1000};
/// The same when the peer is likely to be dead.
inline constexpr std::chrono::milliseconds kPartTimeout{20};

/// Receive buffers are laid out this much further apart than they are long, so that their first
/// lines do not fall into the same cache sets.
inline constexpr std::size_t kReceiveStagger = 64;
inline constexpr std::size_t kMinReceiveSize = 512;

/// Inline bytes of a queue pair, if the device has so many: a message, or a call of the same size
/// with the words that a ring puts around it.
inline constexpr std::uint32_t kInlineWrite = kInlineMessage + 64;
static_assert(kInlineMessage > sizeof(MessageHeader));
static_assert(kMinReceiveSize >= kInlineMessage);
static_assert((kPendingSlots & (kPendingSlots - 1)) == 0);

}  // namespace dsfabric
