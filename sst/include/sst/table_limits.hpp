// SPDX-License-Identifier: MIT
// Every fixed number of the layer, with the relations among them checked at compile time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "dtutils/limits.hpp"

namespace sst {

/// Bytes that arrive at once if they do not cross a multiple of it: the paper's cache line.
inline constexpr std::size_t kLine = dtutils::kCacheLine;
/// A row is at most this long.
inline constexpr std::size_t kMaxRow = 65536;
/// Fields of a row that can be told apart at compile time; an array counts as one.
inline constexpr std::size_t kMaxFields = 16;
/// Members of a table: what fits into an IdSet.
inline constexpr std::size_t kMaxMembers = 256;

/// Bytes of captures that the slot of a predicate holds; larger captures live on the heap.
inline constexpr std::size_t kInlineCaptures = 40;
/// Predicates that a table has room for at first; the thread that adds more of them makes room.
inline constexpr std::size_t kFirstPredicates = 16;

/// Copies of rows, for pushes of more bytes than the device takes inline, that may be on their way
/// at once.
inline constexpr std::size_t kPushBuffers = 8;
/// Offers of new tables that a process keeps from each other one.
inline constexpr std::size_t kOffers = 8;
/// How long the end of a TableGroup waits for pushes that are still on their way.
inline constexpr std::chrono::milliseconds kFlushTimeout{1000};

/// A leader of an agreement whose ballot was outbid waits so long before it tries again; twice as
/// long each time, so many times.
inline constexpr std::chrono::milliseconds kCampaignPause{2};
/// How many times the pause doubles.
inline constexpr std::uint32_t kMaxCampaignDoublings = 6;

/// Bytes of the largest message of a Multicast.
inline constexpr std::uint32_t kMaxMessage = 65536;
/// Slots of a ring, at least: so that a quarter of them is one.
inline constexpr std::uint32_t kMinSlots = 4;
/// Slots of a ring, at most.
inline constexpr std::uint32_t kMaxSlots = 65536;
/// Bytes of the slots of a ring, unless the user says how many slots it has.
inline constexpr std::size_t kRingBytes = 65536;
/// Bytes of messages that a sender has queued before it posts them without being told to.
inline constexpr std::size_t kBatchBytes = 4096;
/// Unused bytes between two messages that are sent along, rather than making two writes.
inline constexpr std::size_t kMaxGap = 128;

/// Rounds that found nothing before an evaluating thread pauses between rounds, yields its core,
/// and sleeps; see Pace.
inline constexpr std::uint32_t kBusyRounds = 2000;
/// kBusyRounds where processes outnumber cores.
inline constexpr std::uint32_t kBusyRoundsCrowded = 2;
/// Rounds in which an evaluating thread yields its core before it sleeps.
inline constexpr std::uint32_t kYieldRounds = 4000;
/// How long it sleeps between rounds.
inline constexpr std::chrono::microseconds kIdleSleep{50};

static_assert(kMaxRow % kLine == 0);
static_assert(kMaxMessage % kLine == 0 && kRingBytes >= kMaxMessage);
static_assert(kBusyRoundsCrowded <= kBusyRounds && kBusyRounds < kYieldRounds);

}  // namespace sst
