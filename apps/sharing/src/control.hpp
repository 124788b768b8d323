// SPDX-License-Identifier: MIT
// Wire format: the control part of shared data, at their home.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/status.hpp"
#include "sharing/datum.hpp"

namespace sharing::detail {

/// A plain segment of global memory, in host byte order:
///
///   byte  0       8         48        56        64
///         | hosts | unused  | version | damaged | bytes of plain data ...
///
/// `hosts`: bit i: host number i wants to be told of new versions. `version`: puts that have begun.
/// `damaged`: a process died that held the data. Those of the other models are a versioned segment
/// of their own: | version | bytes ... |, which is written as a whole.
struct Control {
  std::uint64_t hosts;
  std::uint64_t unused[5];
  std::uint64_t version;
  std::uint64_t damaged;
};
inline constexpr std::uint64_t kWord = 8;
inline constexpr std::uint64_t kVersionAt = offsetof(Control, version);
inline constexpr std::uint64_t kDamagedAt = offsetof(Control, damaged);
inline constexpr std::uint64_t kControlBytes = sizeof(Control);
static_assert(kControlBytes == 64 && kVersionAt == 48 && kDamagedAt == 56);
inline constexpr std::uint32_t kBytesMost = 1u << 30;

// In the registered words of a Client.
inline constexpr std::uint64_t kPushedAt = 0;
inline constexpr std::uint64_t kSinkAt = 8;
inline constexpr std::uint64_t kOneAt = 16;

/// Whether one RDMA operation reads and writes the bytes, with the locks of the model or without.
inline bool is_plain(const Datum& datum) noexcept {
  return datum.model.coherence == Coherence::kNull || datum.model.coherence == Coherence::kWrite ||
         datum.model.coherence == Coherence::kStrict;
}

inline Status status_of(memory::Status status) noexcept {
  switch (status) {
    case memory::Status::kDone:
      return Status::kDone;
    case memory::Status::kDamaged:
      return Status::kDamaged;
    case memory::Status::kHomeFailed:
      return Status::kHomeFailed;
    default:
      // The Datum was made by allocate(): all else says that it is none any more.
      return Status::kFreed;
  }
}

}  // namespace sharing::detail
