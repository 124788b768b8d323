// SPDX-License-Identifier: MIT
// Callers that wait until a ring has room.
#pragma once

#include <cstdint>

#include "dtutils/synchronizer.hpp"

namespace riutils::detail {

/// The callers that wait for room in one ring: the worker itself, and its fibers. All of them try
/// again when there is some.
///
/// Owner thread only.
class RoomWaiters {
 public:
  /// On the stack of the call that waits; the list knows it until one of the two lets go.
  class Waiter {
   public:
    explicit Waiter(RoomWaiters& all) noexcept;
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    ~Waiter();
    /// Done when there is room, or the peer is gone.
    dtutils::Synchronizer& room() noexcept { return room_; }

   private:
    friend class RoomWaiters;
    RoomWaiters& all_;
    Waiter* next_;
    const bool fiber_;
    dtutils::Synchronizer room_{1};
  };

  bool empty() const noexcept { return first_ == nullptr; }
  /// Those of them that are fibers.
  std::uint32_t fibers() const noexcept { return fibers_; }
  void wake_all() noexcept;

 private:
  Waiter* first_ = nullptr;
  std::uint32_t fibers_ = 0;
};

}  // namespace riutils::detail
