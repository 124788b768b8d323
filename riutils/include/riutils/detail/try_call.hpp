// SPDX-License-Identifier: MIT
// The usual call in the shortest way, batched or sent at once: what channels try first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "riutils/detail/outgoing_ring.hpp"

namespace riutils {

template <class F>
inline bool OutgoingRing::try_append(std::uint32_t function, const F& callable) noexcept {
  constexpr std::uint32_t kStride = ring_stride(sizeof(F));
  if (run_function_ != function || at_ - floor_ < std::ptrdiff_t{kStride}) return false;
  at_ -= kStride;
  put(at_, callable);
  return true;
}

template <class F>
inline bool OutgoingRing::try_batch(std::uint32_t function, const F& callable) noexcept {
  constexpr std::uint32_t kStride = ring_stride(sizeof(F));
  if (at_ - floor_ < std::ptrdiff_t{kRingWord + kStride} || !same_program_ ||
      function == dsfabric::kLateFunction) {
    return false;
  }
  close_record();
  open_record({function, 0, static_cast<std::uint32_t>(sizeof(F))}, function);
  put(at_, callable);
  return true;
}

template <class F>
inline bool OutgoingRing::try_post(std::uint32_t function, const F& callable) noexcept {
  constexpr std::uint32_t kStride = ring_stride(sizeof(F));
  constexpr std::uint32_t kBytes = kStride + 2 * kRingWord;
  if (at_ != sent_ ||
      reinterpret_cast<std::uintptr_t>(at_) < post_floor_ + kStride + kRingOverhead ||
      is_backlogged()) [[unlikely]] {
    return false;
  }
  if constexpr (InlineRecord::takes<F>()) {
    if (!record_.is_for(function)) [[unlikely]]
      return arrange_and_post(function, callable);
    std::byte* const low = at_ - kBytes;
    ibv_send_wr& request =
        record_.make(callable, reinterpret_cast<std::uint64_t>(low) + to_remote_);
    // Before the post, so that nothing has to be kept in a register meanwhile.
    at_ = sent_ = low + kRingWord;
    ++posted_;
    if (transmitter_->post(request, dtutils::kInlined)) [[likely]]
      return true;
    at_ = sent_ = at_ + kStride + kRingWord;
    --posted_;
    return false;
  } else {
    return post_from_mirror(function, callable);
  }
}

template <class F>
bool OutgoingRing::arrange_and_post(std::uint32_t function, const F& callable) noexcept {
  if (function == dsfabric::kLateFunction) return false;
  return record_.arrange<F>(function) ? try_post(function, callable)
                                      : post_from_mirror(function, callable);
}

template <class F>
bool OutgoingRing::post_from_mirror(std::uint32_t function, const F& callable) noexcept {
  if (function == dsfabric::kLateFunction) return false;
  constexpr std::uint32_t kBytes = ring_stride(sizeof(F)) + 2 * kRingWord;
  std::byte* const low = at_ - kBytes;
  put_word(at_ - kRingWord,
           RingHeader{function, 1, static_cast<std::uint32_t>(sizeof(F))}.encode());
  put(low + kRingWord, callable);
  put_word(low, 0);
  if (!transmitter_->write({low, kBytes, lkey_}, {reinterpret_cast<std::uint64_t>(low) + to_remote_,
                                                  kBytes, rkey_, 0, 0})) [[unlikely]] {
    return false;
  }
  leave_behind_unread(low);
  ++posted_;
  return true;
}

}  // namespace riutils
