// SPDX-License-Identifier: MIT
// What travels around a user's callable: where its result goes, where its buffer lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "dsfabric/call_context.hpp"
#include "dsfabric/callable.hpp"
#include "dsfabric/detail/object_bytes.hpp"
#include "dsfabric/detail/result_batcher.hpp"
#include "dsfabric/return_slot.hpp"
#include "dsfabric/travels.hpp"
#include "dtutils/rdma_memory.hpp"

namespace dsfabric::detail {

/// Gives the waiting thread of `home` its result, by RDMA writes: inline where the value fits. What
/// cannot be sent, the caller learns by the failure of this process. Any thread.
void send_return(Fabric& fabric, ProcessId home, const ReturnAddress& to, std::uint32_t word_offset,
                 const void* value, std::uint32_t bytes) noexcept;
void send_exception(Fabric& fabric, ProcessId home, const ReturnAddress& to,
                    std::uint32_t word_offset, const char* text) noexcept;
[[noreturn]] void throw_large_result(std::uint64_t bytes);
/// Ends the one operation that a Synchronizer of `home` waits for, by an inline RDMA write.
void send_word(Fabric& fabric, ProcessId home, const dtutils::RemoteMemoryLocator& word,
               bool failed) noexcept;
/// In a coroutine: hands an exception to Fabric::on_exception. What that throws again, whoever has
/// begun or resumed the coroutine throws by throw_reported().
void report_in_coroutine(const CallContext& call, std::exception_ptr thrown) noexcept;
void throw_reported();
/// Sends one record as a message, from inside a handler too. Throws as SendSpace. Any thread.
bool send_record(Fabric& fabric, ThreadId to, std::uint32_t function, const void* callable,
                 std::uint32_t size, std::span<const std::byte> extra = {});
/// The index that a function of this program has at the peer. Throws Error when it has none. Any
/// thread.
std::uint32_t index_at(Fabric& fabric, ThreadId to, std::uint32_t function);
/// Throws Error in a library that has a copy of this layer's code beside that of the program, whose
/// threads and functions it does not know. Any thread.
void require_one_copy(Fabric& fabric);
/// Reads a buffer of the process that `from` names into registered memory of this one; polls, but
/// serves nothing. Throws Error (no memory) or PeerFailed. Any thread.
dtutils::RDMAMemory read_buffer(Fabric& fabric, const dtutils::RemoteMemoryLocator& from);

template <class F>
decltype(auto) run_callable(F& function, CallContext& call) {
  if constexpr (std::is_invocable_v<F&, CallContext&>) {
    return function(call);
  } else {
    return function();
  }
}

template <class F>
using CallResult = decltype(run_callable(std::declval<F&>(), std::declval<CallContext&>()));
/// As what a result comes home: a coroutine's is what it ends with.
template <class R>
struct HomeType {
  using Type = R;
};
template <TaskResult R>
struct HomeType<R> {
  using Type = typename R::Value;
};
template <class R>
using AtHome = typename HomeType<std::remove_cvref_t<R>>::Type;
template <class F>
using ResultOf = AtHome<CallResult<F>>;

/// A result on its way to who asked: with others where the call came with others, else by itself.
template <class T>
void return_value(CallContext& call, const ReturnAddress& to, const T& value) noexcept {
  if constexpr (sizeof(T) <= ResultBatcher::kMaxValue) {
    const auto gathered = [&] {
      return call.results->add(call.source, Result<T>(to.pending, &value));
    };
    if (call.results != nullptr && gathered()) return;
  }
  send_return(call.fabric, call.source.process, to, SlotLayout<T>::kWordOffset,
              ObjectBytes<T>(value).data(), sizeof value);
}
inline void return_nothing(CallContext& call, const ReturnAddress& to) noexcept {
  if (call.results != nullptr && call.results->add(call.source, Result<void>{to.pending})) return;
  send_return(call.fabric, call.source.process, to, 0, nullptr, 0);
}

/// The same for a result that is no plain data. Throws Error when it is too large.
template <class T>
void return_packed(CallContext& call, const ReturnAddress& to, const T& value) {
  Packer counted(nullptr);
  counted(value);
  const std::uint64_t bytes = counted.size();
  if (bytes > kMaxPackedResult) throw_large_result(bytes);
  std::array<std::byte, kPackedResult> packed;
  std::memcpy(packed.data(), &bytes, sizeof bytes);
  Packer out(packed.data() + sizeof bytes);
  out(value);
  send_return(call.fabric, call.source.process, to, kPackedResult, packed.data(),
              static_cast<std::uint32_t>(sizeof bytes + bytes));
}

template <class T>
void return_any(CallContext& call, const ReturnAddress& to, const T& value) {
  if constexpr (SlotLayout<T>::kPlain) {
    return_value(call, to, value);
  } else {
    return_packed(call, to, value);
  }
}

/// In a catch block: the text of the exception goes to the caller, who waits for a T.
template <class T>
void send_current_exception(CallContext& call, const ReturnAddress& to) noexcept {
  const auto failed = [&](const char* text) {
    send_exception(call.fabric, call.source.process, to, SlotLayout<T>::kWordOffset, text);
  };
  try {
    throw;
  } catch (const std::exception& error) {
    failed(error.what());
  } catch (...) {
    failed("an exception other than a std::exception");
  }
}

/// Begins a call of a coroutine, whose value goes home when it has ended (task.hpp).
template <class F>
void return_task(F function, CallContext& call, const ReturnAddress& home);

/// Runs `work()` and sends its value, or the text of its exception, to the caller.
template <class Work>
void run_and_return(CallContext& call, const ReturnAddress& to, Work&& work) {
  using T = std::remove_cvref_t<decltype(work())>;
  try {
    if constexpr (std::is_void_v<T>) {
      work();
      return_nothing(call, to);
    } else {
      const T value = work();
      return_any(call, to, value);
    }
  } catch (...) {
    send_current_exception<T>(call, to);
  }
}

/// call_return.
template <class F>
struct Returning : WrapperName<F, 'r', ResultOf<F>> {
  Returning(const F& f, const ReturnAddress& to) noexcept : function(f), home(to) {}
  F function;
  ReturnAddress home;

  void operator()(CallContext& call) {
    if constexpr (TaskResult<CallResult<F>>) {
      return_task<F>(function, call, home);
    } else {
      run_and_return(call, home, [&]() -> decltype(auto) { return run_callable(function, call); });
    }
  }
};

/// call_buffer with a destination: the bytes were written there before this record was sent.
template <class F>
struct AtDestination : WrapperName<F, 'w'> {
  AtDestination(const F& f, std::uint64_t at, std::uint32_t length) noexcept
      : function(f), bytes(length), address(at) {}
  F function;
  std::uint32_t bytes;
  std::uint64_t address;

  void operator()(CallContext& call) {
    function(call, reinterpret_cast<std::byte*>(address), bytes);
  }
};

/// call_buffer by RDMA read, by the thread that runs the callable.
template <class F>
struct ReadBuffer : WrapperName<F, 's'> {
  ReadBuffer(const F& f, const dtutils::RemoteMemoryLocator& buffer,
             const ReturnAddress& to) noexcept
      : function(f), from(buffer), home(to) {}
  F function;
  dtutils::RemoteMemoryLocator from;
  ReturnAddress home;

  void operator()(CallContext& call) {
    run_and_return(call, home, [&] {
      const dtutils::RDMAMemory memory = read_buffer(call.fabric, from);
      function(call, memory.data(), static_cast<std::uint32_t>(from.length));
    });
  }
};

/// What a service thread has read for a worker of its own process.
template <class F>
struct HandOver : WrapperName<F, 'h'> {
  HandOver(const F& f, dtutils::RDMAMemory* read, std::uint32_t length, ThreadId caller,
           const ReturnAddress& to) noexcept
      : function(f), bytes(length), source(caller), memory(read), home(to) {}
  F function;
  std::uint32_t bytes;
  ThreadId source;
  dtutils::RDMAMemory* memory;
  ReturnAddress home;

  void operator()(CallContext& call) {
    // A pointer means something only when it comes from this process.
    if (call.source.process != call.fabric.process()) return;
    const std::unique_ptr<dtutils::RDMAMemory> owned(memory);
    CallContext original{call.fabric, source, call.worker};
    run_and_return(original, home, [&] { function(original, owned->data(), bytes); });
  }
};

/// call_buffer by RDMA read in a service thread, which then hands the call to the worker.
template <class F>
struct ReadAside : WrapperName<F, 'a'> {
  /// Only the callable has a place, not the reading.
  using Placement = void;
  ReadAside(const F& f, ThreadId worker, const dtutils::RemoteMemoryLocator& buffer,
            const ReturnAddress& address) noexcept
      : function(f), to(worker), from(buffer), home(address) {}
  F function;
  ThreadId to;
  dtutils::RemoteMemoryLocator from;
  ReturnAddress home;

  void operator()(CallContext& call) {
    try {
      const auto bytes = static_cast<std::uint32_t>(from.length);
      auto memory = std::make_unique<dtutils::RDMAMemory>(read_buffer(call.fabric, from));
      const HandOver<F> next(function, memory.get(), bytes, call.source, home);
      if (!send_record(call.fabric, to, function_index<HandOver<F>>(), ObjectBytes(next).data(),
                       sizeof next)) {
        return send_exception(call.fabric, call.source.process, home, 0, "its process is ending");
      }
      memory.release();
    } catch (const std::exception& error) {
      send_exception(call.fabric, call.source.process, home, 0, error.what());
    }
  }
};

}  // namespace dsfabric::detail
