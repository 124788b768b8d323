// SPDX-License-Identifier: MIT
// The family of remote calls (Seriema, Table 1), written once over any channel.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "dsfabric/broadcast_calls.hpp"
#include "dsfabric/call_context.hpp"
#include "dsfabric/call_status.hpp"
#include "dsfabric/callable.hpp"
#include "dsfabric/detail/arguments.hpp"
#include "dsfabric/detail/call_wrappers.hpp"
#include "dsfabric/detail/object_bytes.hpp"
#include "dsfabric/remote_future.hpp"
#include "dsfabric/return_slot.hpp"
#include "dsfabric/travels.hpp"
#include "dtutils/detail/scope_exit.hpp"

namespace dsfabric {

/// A way for records to reach a thread: messages here, rings in RIutils.
template <class C>
concept CallChannel = requires(C& channel, ThreadId to, std::uint32_t bytes,
                               dtutils::Synchronizer* sent, std::uint32_t function) {
  /// Space for the `bytes` bytes of one call of a function of this program, at a multiple of 8;
  /// nullptr when the call cannot be made, and refusal() says why. Throws Error as index_at, and
  /// when so many bytes can never be sent.
  { channel.reserve(to, function, bytes) } -> std::same_as<std::byte*>;
  /// Why the last reserve gave no space: kFull or kPeerGone.
  { channel.refusal() } -> std::same_as<CallStatus>;
  /// Makes the record of the last reserve known to the peer. With `sent`, that Synchronizer is
  /// decremented when the peer's device has it. False: the peer is gone.
  { channel.commit(sent) } -> std::same_as<bool>;
  /// The index that `function` of this program has at the peer. Throws Error when there is no such
  /// thread, or no such function in its program.
  { channel.index_at(to, function) } -> std::same_as<std::uint32_t>;
  /// What is posted on it before a commit arrives at the peer before the record.
  { channel.transmitter(to) } -> std::same_as<dtutils::Transmitter&>;
  { channel.fabric() } -> std::same_as<Fabric&>;
};

/// A channel that has a shorter way for calls which carry nothing but a callable. False: nothing
/// was done, and the call takes the usual way.
template <class C, class F>
concept ShortcutChannel = requires(C& channel, ThreadId to, const F& function) {
  { channel.try_call(to, function) } -> std::same_as<bool>;
};

/// Which thread of the destination's process fetches the buffer of a call.
enum class ReadOn : std::uint8_t {
  /// The destination itself, which waits for it.
  kDestination,
  /// A service thread; the destination goes on meanwhile, and runs the call afterwards.
  kServiceThread,
};

/// Mixed into a channel: `class Channel : public Calls<Channel>`, with the broadcasts of
/// BroadcastCalls. Every method returns kAccepted,
/// or why the call was not made; then its Synchronizer or slot has failed. The callable is copied
/// once, into the memory that is sent. `sent` is decremented when the peer has the call, which says
/// nothing about its execution; a ReturnSlot or ExecutionSlots tells when it was executed.
///
/// When a callable throws and no slot waits for its result (call, call_buffer without a slot,
/// broadcast without slots), Fabric::on_exception reports it at the destination. Owner thread of
/// the channel only.
template <class Channel>
class Calls : public BroadcastCalls<Channel> {
 public:
  /// Thread `to` runs `function()`, or `function(CallContext&)`.
  template <class F>
  CallStatus call(ThreadId to, const F& function, dtutils::Synchronizer* sent = nullptr) {
    if constexpr (ShortcutChannel<Channel, F>) {
      detail::check_callable<F>();
      if (sent == nullptr && channel().try_call(to, function)) return CallStatus::kAccepted;
    }
    return call_buffer(to, function, std::span<const std::byte>(), sent);
  }

  /// Thread `to` runs `function(arguments...)`, or `function(CallContext&, arguments...)`. What can
  /// travel: travels.hpp; a string literal arrives as a std::string. Strings, vectors and the like
  /// are serialized once, into the record. Throws Error when they do not fit into one: of a message
  /// (Fabric::max_message) or a ring (RingOptions::chunk_bytes).
  template <class F, class A, class... More>
  requires(!std::is_convertible_v<const A&, dtutils::Synchronizer*>)
  CallStatus call(ThreadId to, const F& function, const A& first, const More&... more) {
    detail::check_arguments<F, A, More...>();
    if constexpr (detail::kAsCaptures<F, A, More...>) {
      return call(to, detail::WithPlainArguments<F, A, More...>(function, first, more...));
    } else {
      using Wrapped = detail::WithArguments<F, detail::Argument<A>, detail::Argument<More>...>;
      return put_packed(to, Wrapped(function), first, more...) ? commit(nullptr) : refused(nullptr);
    }
  }

  /// Thread `to` runs `function(CallContext&, std::byte* buffer, std::uint32_t bytes)`; the buffer
  /// travels with the call, and lives until the callable returns.
  template <class F>
  CallStatus call_buffer(ThreadId to, const F& function, std::span<const std::byte> buffer,
                         dtutils::Synchronizer* sent = nullptr) {
    return put(to, function, buffer) ? commit(sent) : refused(sent);
  }

  /// The same; `from` is first written (RDMA write) to the beginning of `into`, memory of `to`'s
  /// process, and `buffer` points there. `from` must stay as it is until `sent` is decremented.
  template <class F>
  CallStatus call_buffer(ThreadId to, const F& function, dtutils::LocalBuffer from,
                         const dtutils::RemoteMemoryLocator& into,
                         dtutils::Synchronizer* sent = nullptr) {
    detail::check_callable<F>();
    const detail::AtDestination<F> wrapped(function, into.address, from.length);
    if (!put(to, wrapped, {})) return refused(sent);
    // One queue pair carries both, so the bytes are there before the call. When the write is
    // refused the Transmitter is broken, and the commit says so.
    return channel().transmitter(to).write(from, into.part(0, from.length)) ? commit(sent)
                                                                            : abandon(sent);
  }

  /// The same; `buffer`, registered memory of this process, is read (RDMA read) by the peer into
  /// memory of its own. It must stay as it is until `executed` is done. To a service thread it goes
  /// as a message, whatever the channel, so it may overtake other calls.
  template <class F>
  CallStatus call_buffer(ThreadId to, const F& function, const dtutils::RDMAMemory& buffer,
                         ReturnSlot<void>& executed, ReadOn where = ReadOn::kDestination) {
    detail::check_callable<F>();
    Fabric& fabric = channel().fabric();
    dtutils::RemoteMemoryLocator from = buffer.remote();
    from.process = fabric.process().value;
    if (where == ReadOn::kDestination || to.is_service()) {
      using Wrapped = detail::ReadBuffer<F>;
      return tied<void, Wrapped>(to, executed.cell_, [&](const detail::ReturnAddress& home) {
        return call(to, Wrapped(function, from, home));
      });
    }
    using Aside = detail::ReadAside<F>;
    (void)detail::index_at(fabric, to, function_index<Aside>());
    return tied_to(to.process, executed.cell_, [&] {
      const Aside wrapped(function, to, from, executed.cell_.address(0));
      const ThreadId service = ThreadId::service_of(to.process);
      const bool done =
          detail::send_record(fabric, service, function_index<Aside>(), &wrapped, sizeof wrapped);
      return done ? CallStatus::kAccepted : CallStatus::kPeerGone;
    });
  }

  /// Thread `to` runs `function()` and its value arrives in `slot`, whose get() waits for it. A
  /// ReturnSlot<void> only learns that the call was executed.
  template <class F, class T>
  CallStatus call_return(ThreadId to, const F& function, ReturnSlot<T>& slot) {
    detail::check_callable<F>();
    static_assert(std::is_same_v<T, detail::ResultOf<F>>,
                  "cariama: the ReturnSlot is for another type than the callable returns.");
    return return_to<F>(to, function, slot.cell_);
  }

  /// The same without a slot: the value arrives in the future. Where the call was not accepted, the
  /// future knows why (RemoteFuture::status).
  template <class F>
  auto call_return(ThreadId to, const F& function) {
    detail::check_callable<F>();
    return future_of<detail::ResultOf<F>>(
        [&](detail::ResultCell& cell) { return return_to<F>(to, function, cell); });
  }

  /// The same with arguments, as those of call().
  template <class F, class A, class... More>
  auto call_return(ThreadId to, const F& function, const A& first, const More&... more) {
    detail::check_arguments<F, A, More...>();
    if constexpr (detail::kAsCaptures<F, A, More...>) {
      return call_return(to, detail::WithPlainArguments<F, A, More...>(function, first, more...));
    } else {
      using T =
          detail::AtHome<detail::ResultWith<F, detail::Argument<A>, detail::Argument<More>...>>;
      using Wrapped =
          detail::ReturningWithArguments<F, detail::Argument<A>, detail::Argument<More>...>;
      return future_of<T>([&](detail::ResultCell& cell) {
        return tied<T, Wrapped>(to, cell, [&](const detail::ReturnAddress& home) {
          return put_packed(to, Wrapped(function, home), first, more...) ? commit(nullptr)
                                                                         : refused(nullptr);
        });
      });
    }
  }

 private:
  Channel& channel() noexcept { return static_cast<Channel&>(*this); }

  /// Reserves and fills in a record; false: it cannot be sent.
  template <class F>
  bool put(ThreadId to, const F& function, std::span<const std::byte> extra) {
    detail::check_callable<F>();
    static_assert(CallChannel<Channel>);
    const std::uint32_t bytes = detail::record_bytes(sizeof(F), extra.size());
    std::byte* const space = channel().reserve(to, function_index<F>(), bytes);
    if (space == nullptr) return false;
    // An empty one has a byte that was never written.
    if constexpr (!std::is_empty_v<F>) {
      detail::put_object(space, function);
    }
    if (!extra.empty()) std::memcpy(space + sizeof(F), extra.data(), extra.size());
    return true;
  }
  /// Reserves and fills in a record whose arguments lie behind the callable; false: it cannot be
  /// sent.
  template <class F, class... A>
  bool put_packed(ThreadId to, const F& function, const A&... arguments) {
    static_assert(CallChannel<Channel>);
    Packer counted(nullptr);
    (detail::pack_argument(counted, arguments), ...);
    std::byte* const space =
        channel().reserve(to, function_index<F>(), detail::record_bytes(sizeof(F), counted.size()));
    if (space == nullptr) return false;
    if constexpr (!std::is_empty_v<F>) {
      detail::put_object(space, function);
    }
    Packer out(space + sizeof(F));
    (detail::pack_argument(out, arguments), ...);
    return true;
  }
  /// A future of the call that `send(cell)` makes.
  template <class T, class Send>
  RemoteFuture<T> future_of(Send&& send) {
    if (futures_ == nullptr) [[unlikely]]
      futures_ = &detail::FuturePool::of(channel().fabric());
    RemoteFuture<T> future(*futures_);
    future.state_->status = send(*future.state_);
    return future;
  }
  template <class F>
  CallStatus return_to(ThreadId to, const F& function, detail::ResultCell& cell) {
    using Wrapped = detail::Returning<F>;
    return tied<detail::ResultOf<F>, Wrapped>(to, cell, [&](const detail::ReturnAddress& home) {
      return call(to, Wrapped(function, home));
    });
  }
  /// Makes the call `send(home)` of a Wrapped, whose value or end `cell` is told of.
  template <class T, class Wrapped, class Send>
  CallStatus tied(ThreadId to, detail::ResultCell& cell, Send&& send) {
    // An unknown thread is refused here, before the cell is tied to a process that is not there.
    (void)channel().index_at(to, function_index<Wrapped>());
    return tied_to(to.process, cell,
                   [&] { return send(cell.address(detail::SlotLayout<T>::kWordOffset)); });
  }
  template <class Send>
  CallStatus tied_to(ProcessId process, detail::ResultCell& cell, Send&& send) {
    if (!cell.expect(process)) {
      const bool gone = channel().fabric().state(process) != PeerState::kActive;
      return gone ? CallStatus::kPeerGone : CallStatus::kFull;
    }
    CallStatus status = CallStatus::kPeerGone;
    // Also when it throws: nothing may stay tied then.
    const dtutils::detail::ScopeExit refusal([&]() noexcept {
      if (status != CallStatus::kAccepted) cell.refuse(status == CallStatus::kPeerGone);
    });
    status = send();
    return status;
  }
  CallStatus commit(dtutils::Synchronizer* sent) noexcept {
    return channel().commit(sent) ? CallStatus::kAccepted : CallStatus::kPeerGone;
  }
  CallStatus abandon(dtutils::Synchronizer* sent) noexcept {
    (void)channel().commit(sent);
    return CallStatus::kPeerGone;
  }
  CallStatus refused(dtutils::Synchronizer* sent) noexcept {
    if (sent != nullptr) sent->fail();
    return channel().refusal();
  }

  /// Where futures come from; found by the first call that gives one.
  detail::FuturePool* futures_ = nullptr;
};

}  // namespace dsfabric
