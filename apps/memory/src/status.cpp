// SPDX-License-Identifier: MIT
// Status in words, and as exceptions.
#include "memory/status.hpp"

#include <fmt/format.h>

#include "dsfabric/peer_failed.hpp"
#include "memory/client.hpp"

namespace memory {

const char* to_string(Status status) noexcept {
  switch (status) {
    case Status::kDone:
      return "it was done";
    case Status::kFreed:
      return "the segment was freed";
    case Status::kForeign:
      return "the pointer names no segment of this Space";
    case Status::kOutOfRange:
      return "the range goes beyond the end of the segment";
    case Status::kMisaligned:
      return "an atomic needs 8 bytes at a multiple of 8";
    case Status::kWrongType:
      return "the segment was allocated for another type";
    case Status::kNoMemory:
      return "its home has no memory left";
    case Status::kDamaged:
      return "a writer died in the middle of its write, or its versions were written over";
    case Status::kHomeFailed:
      return "its home is gone";
    case Status::kAgain:
      return "the segment is in use";
  }
  return "unknown";
}

namespace {

const char* remedy(Status status) noexcept {
  switch (status) {
    case Status::kFreed:
      return "do not use pointers after free, also not those that other processes keep";
    case Status::kWrongType:
      return "use one type for a segment in all programs of the job";
    case Status::kNoMemory:
      return "give a larger SpaceOptions::bytes, free segments, or use memory::spread()";
    case Status::kDamaged:
      return "write the whole segment, or free it";
    default:
      return "compare the pointer with what allocate() gave";
  }
}

}  // namespace

void require(Status status, const Place& place, std::string_view what, const Space& space) {
  if (status == Status::kDone) return;
  if (status == Status::kHomeFailed) {
    const std::string reason = space.fabric().failure_reason(place.home());
    throw dsfabric::PeerFailed(place.home(), what, reason.empty() ? "it has left" : reason);
  }
  throw dtutils::Error(
      fmt::format("segment {:#x} of process {}", place.offset(), place.home().value),
      fmt::format("{}: {}", what, to_string(status)), remedy(status));
}

}  // namespace memory
