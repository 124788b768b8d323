// SPDX-License-Identifier: MIT
// Results of calls that are sent back together, as calls themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dsfabric/callable.hpp"
#include "dsfabric/detail/object_bytes.hpp"
#include "dsfabric/ids.hpp"
#include "dsfabric/return_slot.hpp"

namespace dsfabric {
struct CallContext;
}  // namespace dsfabric

namespace dsfabric::detail {

/// Puts a value into the slot that waits for it, if it waits still: not after a failure of the
/// process that sent the value. Any thread.
void take_result(const CallContext& call, std::uint32_t pending, std::uint32_t word_offset,
                 const std::byte* value, std::uint32_t bytes) noexcept;

/// A result as a call of the thread that asked for it.
template <class T>
struct Result {
  Result(std::uint32_t its_pending, const T* from) noexcept : pending(its_pending) {
    std::memcpy(value, ObjectBytes<T>(*from).data(), sizeof value);
  }
  std::uint32_t pending;
  std::byte value[sizeof(T)];

  void operator()(CallContext& call) const noexcept {
    take_result(call, pending, SlotLayout<T>::kWordOffset, value, sizeof value);
  }
};
template <>
struct Result<void> {
  std::uint32_t pending;

  void operator()(CallContext& call) const noexcept {
    take_result(call, pending, SlotLayout<void>::kWordOffset, nullptr, 0);
  }
};

/// A layer that runs many calls at once may offer it (CallContext::results): it collects their
/// results, and that layer sends them when the calls have run, many in a cache line. A result that
/// add() refuses goes by an RDMA write of its own. The thread that runs the calls only.
class ResultBatcher {
 public:
  /// Bytes of a value at most; a larger one gains nothing.
  static constexpr std::size_t kMaxValue = 256;

  /// False: `to` cannot be sent results this way, or not now.
  template <class R>
  bool add(ThreadId to, const R& result) noexcept {
    constexpr std::ptrdiff_t kStride = detail::kRunStride<R>;
    const std::uint32_t function = function_index<R>();
    if (function != function_ || to != to_ || at_ - begin_ < kStride) [[unlikely]] {
      if (!start(to, function, sizeof(R))) return false;
    }
    at_ -= kStride;
    put_object(at_, result);
    return true;
  }

 protected:
  /// There is no room.
  static constexpr std::uint32_t kNoFunction = 0xffff'ffff;

  ResultBatcher() = default;
  ResultBatcher(const ResultBatcher&) = delete;
  ResultBatcher& operator=(const ResultBatcher&) = delete;
  ~ResultBatcher() = default;
  /// Sends what is collected, and makes room for results of `bytes` bytes for `to`: at_ is the end
  /// of the room, which is filled downwards to begin_. False, with function_ kNoFunction: as add.
  virtual bool start(ThreadId to, std::uint32_t function, std::uint32_t bytes) noexcept = 0;

  /// The worker that the collected results are for.
  ThreadId to_;
  /// The type of result that there is room for.
  std::uint32_t function_ = kNoFunction;
  /// The lowest address of the room.
  std::byte* begin_ = nullptr;
  /// The end of the room that is left.
  std::byte* at_ = nullptr;
};

}  // namespace dsfabric::detail
