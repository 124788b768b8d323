// SPDX-License-Identifier: MIT
// The fixed numbers of the layer in one place.
#pragma once

#include <cstdint>

#include "riutils/detail/ring_header.hpp"
#include "riutils/options.hpp"

namespace riutils {

inline constexpr std::uint32_t kMinChunk = 256;
inline constexpr std::uint32_t kMaxChunk = detail::RingHeader::kMaxBytes + 1;
/// The largest RingOptions::chunk_limit: a ring has a record for each chunk from the start.
inline constexpr std::uint32_t kMaxChunkLimit = 1u << 16;
/// Of a ring of results, of which no more than a process may wait for can be on their way. Its
/// chunks hold any value that travels so.
inline constexpr RingOptions kResultRing{16u << 10, 2, 2, 0};
/// After about this many bytes of one ring a poll looks at the next one.
inline constexpr std::uint32_t kBytesPerPoll = 16u << 10;
/// Steps of progress between two looks at the clock for what waits to be sent.
inline constexpr std::uint32_t kStepsPerClock = 8;

}  // namespace riutils
