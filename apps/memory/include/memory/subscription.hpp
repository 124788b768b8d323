// SPDX-License-Identifier: MIT
// A value in global memory that one thread reads again and again.
#pragma once

#include <cstddef>
#include <span>

#include "memory/client.hpp"
#include "memory/detail/subscription_core.hpp"
#include "memory/global_ptr.hpp"
#include "memory/status.hpp"

namespace memory {

/// A subscription to one segment, with a copy of the whole segment that no cache evicts:
///
///     memory::Subscription<Settings> settings(client, pointer);
///     Settings now;
///     client.require(settings.read(now));  // one compare and the copy, until somebody writes
///
/// Reads give what Client::read with ReadMode::kSubscribed gives, with the same promises, and do
/// not search for the copy. Takes one of ClientOptions::subscriptions while it lives, and memory
/// for the segment beside ClientOptions::cache_bytes.
///
/// Owner thread of the Client only; the Client outlives it. May be moved, but not while a fiber is
/// inside of a read; what was moved from reads kForeign.
template <class T>
class Subscription {
 public:
  /// Asks the home to tell of new versions; the first read fetches. Throws Error when the pointer
  /// is none, of another type or to a plain or freed segment, when the Client has no subscription
  /// left, and in a handler outside of a fiber; PeerFailed when the home is gone.
  Subscription(Client& client, const GlobalPtr<T>& pointer)
      : core_(client.core_, Client::check<T>(pointer), pointer.place()), pointer_(pointer) {}

  /// The element that the pointer points to.
  Status read(T& into) { return core_.read(&into, sizeof(T)); }
  /// into.size() elements from there on, of one version.
  Status read(std::span<T> into) { return core_.read(into.data(), into.size_bytes()); }
  /// What it was made with.
  const GlobalPtr<T>& pointer() const noexcept { return pointer_; }

 private:
  detail::SubscriptionCore core_;
  GlobalPtr<T> pointer_;
};

}  // namespace memory
