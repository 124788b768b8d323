// SPDX-License-Identifier: MIT
// How many processes use a connection that lived through a fork.
#pragma once

#include <cstdint>

namespace preload {

/// A stream belongs to one process, so a connection that several use stays on TCP. Counted in
/// memory that all processes of a program share which forked it; a process that ends without
/// closing stays counted, which is safe. Under the mutex of the connection.
class Holders {
 public:
  /// For a new connection: this process alone.
  void begin() noexcept { slot_ = kNone; }
  /// Before a fork: the child will be one more.
  void add_child() noexcept;
  /// This process closes it.
  void leave() noexcept;
  /// No other process may use it.
  bool alone() const noexcept;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// There was none free: it counts as shared for good.
  static constexpr std::uint32_t kUnknown = UINT32_MAX - 1;
  std::uint32_t slot_ = kNone;
};

/// Makes the shared memory. When the library is loaded, before anybody forks.
void prepare_holders() noexcept;

}  // namespace preload
