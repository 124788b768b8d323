// SPDX-License-Identifier: MIT
// A Transmitter that is not closed while somebody holds it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "dtutils/transmitter.hpp"

namespace dsfabric {

/// A Transmitter, and where its user has been counted; nullptr: nowhere, since nobody closes it. It
/// travels in two registers.
struct CountedUse {
  dtutils::Transmitter* transmitter = nullptr;
  std::atomic<std::uint32_t>* users = nullptr;
};

/// Of a connection that may be closed, it is one of its users; of any other one, a pointer. Owner
/// thread only.
class HeldTransmitter {
 public:
  /// None.
  HeldTransmitter() = default;
  /// Of one that counts this user already.
  explicit HeldTransmitter(CountedUse use) noexcept
      : transmitter_(use.transmitter), users_(use.users) {}
  HeldTransmitter(HeldTransmitter&& other) noexcept
      : transmitter_(other.transmitter_), users_(std::exchange(other.users_, nullptr)) {}
  HeldTransmitter& operator=(HeldTransmitter&&) = delete;
  ~HeldTransmitter() {
    if (users_ != nullptr) give_back(users_);
  }

  explicit operator bool() const noexcept { return transmitter_ != nullptr; }
  dtutils::Transmitter& operator*() const noexcept { return *transmitter_; }
  dtutils::Transmitter* operator->() const noexcept { return transmitter_; }

  /// From now on the caller is the user, and gives it back.
  std::atomic<std::uint32_t>* take_over() noexcept { return std::exchange(users_, nullptr); }
  /// Release: pairs with Connections::try_stop, which then sees what was posted.
  static void give_back(std::atomic<std::uint32_t>* users) noexcept {
    users->fetch_sub(1, std::memory_order_release);
  }

 private:
  dtutils::Transmitter* transmitter_ = nullptr;
  std::atomic<std::uint32_t>* users_ = nullptr;
};

}  // namespace dsfabric
