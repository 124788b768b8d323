// SPDX-License-Identifier: MIT
// How an operation on global memory has ended.
#pragma once

#include <cstdint>

namespace memory {

/// What every operation of a Client returns. `require` turns all but kDone into an exception.
enum class [[nodiscard]] Status : std::uint8_t {
  /// It was done.
  kDone,
  /// The segment was freed: nothing was read or written.
  kFreed,
  /// The pointer names no segment of this Space.
  kForeign,
  /// The range goes beyond the end of the segment.
  kOutOfRange,
  /// An atomic on something else than 8 bytes at a multiple of 8.
  kMisaligned,
  /// The segment was allocated for another type than the pointer's.
  kWrongType,
  /// The home has no memory left for a segment of that size.
  kNoMemory,
  /// A writer died in the middle of a one-sided write, or of a write that its home ran, or somebody
  /// wrote over its versions through a wrong pointer. The next write of the whole segment makes it
  /// readable again.
  kDamaged,
  /// The home is gone. Nobody knows whether the operation took place.
  kHomeFailed,
  /// Only between a home and a Client: the segment is in use, ask again.
  kAgain,
};

/// In words: "the segment was freed".
const char* to_string(Status status) noexcept;

}  // namespace memory
