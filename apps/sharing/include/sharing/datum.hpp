// SPDX-License-Identifier: MIT
// A piece of shared data as it travels, and how operations on it end.
#pragma once

#include <cstdint>
#include <type_traits>

#include "memory/global_ptr.hpp"
#include "sharing/model.hpp"

namespace sharing {

/// Names a piece of shared data. Trivially copyable: capture it, send it, store it.
struct Datum {
  /// Version and state; with the models kNull, kWrite and kStrict the bytes follow.
  memory::Place control;
  /// With the other models: version and bytes.
  memory::Place data;
  /// Its number at its home, for locks.
  std::uint32_t index = 0;
  /// Bytes of it.
  std::uint32_t bytes = 0;
  /// As allocated.
  Model model;

  /// Whether it names something.
  explicit operator bool() const noexcept { return bytes != 0; }
  /// The process that has it.
  dsfabric::ProcessId home() const noexcept { return control.home(); }
};
static_assert(std::is_trivially_copyable_v<Datum>);

/// How an operation has ended.
enum class [[nodiscard]] Status : std::uint8_t {
  /// It was done.
  kDone,
  /// Only with Wait::kTry: somebody whom the model excludes is at work. Nothing was done.
  kBusy,
  /// It was freed.
  kFreed,
  /// As many bytes as it has were not given.
  kWrongSize,
  /// A process died in the middle of a put, or of what may have been one. The next put mends it.
  kDamaged,
  /// The process that has it is gone.
  kHomeFailed,
};
/// In words.
const char* to_string(Status status) noexcept;

/// What an operation does when the model makes it wait for others.
enum class Wait : std::uint8_t { kWait, kTry };

}  // namespace sharing
