// SPDX-License-Identifier: MIT
// How many processes use a connection that lived through a fork.
#pragma once

#include <cstdint>

#include "returned.hpp"

namespace preload {

/// A stream belongs to one process, so a connection that several use gets none. Counted in memory
/// that all processes of a program share which forked it; a process that is killed, or becomes
/// another program, stays counted, which is safe. Under the mutex of the connection.
class Holders {
 public:
  /// For a new connection: this process alone.
  void begin() noexcept {
    slot_ = kNone;
    has_left_ = false;
  }
  /// Before a fork: the child will be one more.
  void add_child() noexcept;
  /// This process closes it.
  void leave() noexcept;
  /// This process goes on with it past the library, so it stays counted.
  void stay() noexcept { slot_ = kNone; }
  /// This process ends, and its threads may use the connection until it has: nothing but the
  /// count changes.
  void leave_at_exit() noexcept;
  /// No other process may use it.
  bool alone() const noexcept;
  /// What the processes share of it, or nullptr; since add_child.
  Returned* returned() const noexcept;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// There was none free: it counts as shared for good.
  static constexpr std::uint32_t kUnknown = UINT32_MAX - 1;
  std::uint32_t slot_ = kNone;
  bool has_left_ = false;
};

/// Makes the shared memory. When the library is loaded, before anybody forks.
void prepare_holders() noexcept;

}  // namespace preload
