// SPDX-License-Identifier: MIT
// The family of remote calls (Seriema, Table 1), written once over any channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "dsfabric/call_context.hpp"
#include "dsfabric/call_record.hpp"
#include "dsfabric/callable.hpp"
#include "dsfabric/return_slot.hpp"

namespace dsfabric {

/// A way for records to reach a thread: messages here, rings in RIutils.
template <class C>
concept CallChannel = requires(C& channel, ThreadId to, std::uint32_t bytes,
                               dtutils::Synchronizer* sent, std::uint32_t function) {
  /// Space for one record of `bytes` bytes, at a multiple of 8; nullptr when the call cannot be
  /// made (the peer is gone; the channel is full and its policy is to say so).
  { channel.reserve(to, bytes) } -> std::same_as<std::byte*>;
  /// Makes the record of the last reserve known to the peer. With `sent`, that Synchronizer is
  /// decremented when the peer's device has it.
  { channel.commit(sent) } -> std::same_as<bool>;
  /// The index that `function` of this program has at the peer.
  { channel.index_at(to, function) } -> std::same_as<std::uint32_t>;
  { channel.fabric() } -> std::same_as<Fabric&>;
};

namespace detail {

/// Gives the peer's waiting thread its result, from inside a handler. Any thread.
void send_return(CallContext& call, const ReturnAddress& to, const void* value,
                 std::uint32_t bytes) noexcept;
void send_exception(CallContext& call, const ReturnAddress& to, const char* text) noexcept;

template <class F>
decltype(auto) run_callable(F& function, CallContext& call) {
  if constexpr (std::is_invocable_v<F&, CallContext&>) {
    return function(call);
  } else {
    return function();
  }
}

/// call_return: runs the callable and sends its value home.
template <class F>
struct Returning {
  F function;
  ReturnAddress home;

  void operator()(CallContext& call) {
    using Result = decltype(run_callable(function, call));
    try {
      if constexpr (std::is_void_v<Result>) {
        run_callable(function, call);
        send_return(call, home, nullptr, 0);
      } else {
        const Result value = run_callable(function, call);
        send_return(call, home, &value, sizeof value);
      }
    } catch (const std::exception& error) {
      send_exception(call, home, error.what());
    } catch (...) {
      send_exception(call, home, "an exception that is no std::exception");
    }
  }
};

template <class F>
using CallResult = decltype(run_callable(std::declval<F&>(), std::declval<CallContext&>()));

}  // namespace detail

/// Mixed into a channel: `class Channel : public Calls<Channel>`. Every method answers false when
/// the call was not made; then its Synchronizer has heard of it as failed. The callable is copied
/// once, into registered memory. Owner thread of the channel only.
template <class Channel>
class Calls {
 public:
  /// Thread `to` runs `function()`, or `function(CallContext&)`. `sent` is decremented when the
  /// peer has the call, which says nothing about its execution.
  template <class F>
  [[nodiscard]] bool call(ThreadId to, const F& function, dtutils::Synchronizer* sent = nullptr) {
    return call_buffer(to, function, {}, sent);
  }

  /// Thread `to` runs `function(CallContext&, std::byte* buffer, std::uint32_t bytes)`; the buffer
  /// travels with the call, and lives until the callable returns.
  template <class F>
  [[nodiscard]] bool call_buffer(ThreadId to, const F& function, std::span<const std::byte> buffer,
                                 dtutils::Synchronizer* sent = nullptr) {
    detail::check_callable<F>();
    static_assert(CallChannel<Channel>);
    const auto bytes = static_cast<std::uint32_t>(sizeof(F) + buffer.size());
    std::byte* space = channel().reserve(to, record_size(bytes));
    if (space == nullptr) return refused(sent);
    const RecordHeader header{channel().index_at(to, function_index<F>()), bytes};
    std::memcpy(space, &header, sizeof header);
    std::memcpy(space + sizeof header, static_cast<const void*>(&function), sizeof(F));
    if (!buffer.empty()) {
      std::memcpy(space + sizeof header + sizeof(F), buffer.data(), buffer.size());
    }
    return channel().commit(sent);
  }

  /// Thread `to` runs `function()` and its value arrives in `slot`, whose get() waits for it.
  template <class F>
  [[nodiscard]] bool call_return(ThreadId to, const F& function,
                                 ReturnSlot<detail::CallResult<F>>& slot) {
    slot.expect(to.process);
    if (call(to, detail::Returning<F>{function, slot.address()})) return true;
    slot.synchronizer().fail();
    return false;
  }

 private:
  Channel& channel() noexcept { return static_cast<Channel&>(*this); }
  static bool refused(dtutils::Synchronizer* sent) noexcept {
    if (sent != nullptr) sent->fail();
    return false;
  }
};

}  // namespace dsfabric
