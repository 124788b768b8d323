// SPDX-License-Identifier: MIT
// Registered memory where the result of a remote call, or the news of its execution, arrives.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "dsfabric/detail/result_cell.hpp"

namespace dsfabric {

template <class Channel>
class Calls;

/// Holds the result of one `call_return` at a time, for a value of type T (void: only the news that
/// the call was executed). It lives in registered memory, so the peer can write it there by itself.
/// Made once and used for many calls, one after the other: a call that comes while another is
/// pending throws an Error. A RemoteFuture is the form for everyone who does not call in a loop.
/// Owner thread only; the fabric outlives it. When it is destroyed while a call is pending, its
/// memory is not used again, because the result may still be written there.
template <class T>
class ReturnSlot {
  static_assert(std::is_void_v<T> || std::is_trivially_copyable_v<T>,
                "cariama: the result of a remote call must be plain data (trivially copyable) to "
                "arrive in a ReturnSlot: no std::string or std::vector. Return the values, or "
                "answer by call_buffer.");
  static constexpr std::uint32_t kWordOffset = detail::SlotLayout<T>::kWordOffset;

 public:
  /// Throws Error when there is no registered memory left. Setup only.
  explicit ReturnSlot(Fabric& fabric) : cell_(fabric, kWordOffset) {}

  /// Done when the result is here, or will never come.
  dtutils::Synchronizer& synchronizer() noexcept { return cell_.word(); }
  /// Becomes true while this worker makes progress: a result of a call over rings may need it.
  bool done() const noexcept { return cell_.done(); }

  /// Waits, serving incoming calls, and gives the result. Throws dtutils::Error with the text of an
  /// exception of the callable, PeerFailed when the process that was called is gone, and Error when
  /// an inline handler would have to wait here.
  T get() {
    cell_.wait("ReturnSlot::get()");
    cell_.finish();
    if constexpr (!std::is_void_v<T>) {
      return *std::launder(reinterpret_cast<const T*>(cell_.value(kWordOffset)));
    }
  }

 private:
  template <class Channel>
  friend class Calls;

  detail::ResultCell cell_;
};

}  // namespace dsfabric
