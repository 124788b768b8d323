// SPDX-License-Identifier: MIT
// How coherent shared data are: the six models, each a promise.
#pragma once

#include <chrono>
#include <cstdint>

namespace sharing {

/// The models of paper 003, section 4.1 (Vaidyanathan, Narravula, Panda, HiPC 2006), from the
/// weakest to the strongest. A get or put *takes place* between its call and its return.
enum class Coherence : std::uint8_t {
  /// A get gives for each byte what some put has written there, or zero.
  kNull,
  /// A get gives the whole of a put, which was the newest one at most Model::age before the get
  /// began.
  kTemporal,
  /// A get gives the whole of a put, and at most Model::versions puts that are newer had returned
  /// when it began.
  kDelta,
  /// A get gives the whole of the newest put, and no other get takes place at the same time.
  kRead,
  /// A get gives the whole of the newest put, and no put takes place at the same time.
  kWrite,
  /// A get gives the whole of the newest put, and nothing else takes place at the same time.
  kStrict,
};

/// A model with its bound. Trivially copyable. From the functions below.
struct Model {
  /// Which one.
  Coherence coherence = Coherence::kStrict;
  /// Of kDelta.
  std::uint32_t versions = 0;
  /// Of kTemporal.
  std::chrono::nanoseconds age{0};
};
/// See Coherence::kNull.
inline Model null() noexcept { return {Coherence::kNull, 0, {}}; }
/// See Coherence::kTemporal. It stands on the steady clock of the host that gets, and on no other:
/// an age is counted from before the bytes were fetched. So clocks of hosts may differ at will; on
/// one host all processes have one.
inline Model temporal(std::chrono::nanoseconds age) noexcept {
  return {Coherence::kTemporal, 0, age};
}
/// See Coherence::kDelta.
inline Model delta(std::uint32_t versions) noexcept { return {Coherence::kDelta, versions, {}}; }
/// See Coherence::kRead.
inline Model read() noexcept { return {Coherence::kRead, 0, {}}; }
/// See Coherence::kWrite.
inline Model write() noexcept { return {Coherence::kWrite, 0, {}}; }
/// See Coherence::kStrict.
inline Model strict() noexcept { return {Coherence::kStrict, 0, {}}; }

}  // namespace sharing
