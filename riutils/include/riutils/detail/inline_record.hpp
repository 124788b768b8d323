// SPDX-License-Identifier: MIT
// One call as one work request that the device takes in by the post itself.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dsfabric/detail/object_bytes.hpp"
#include "dtutils/limits.hpp"
#include "riutils/detail/ring_header.hpp"

namespace riutils::detail {

/// A record with one call (ring_header.hpp) that is posted inline: the zero word below, the call,
/// the header. A small call is put together here; of a larger one the device gathers the parts from
/// where they lie, which is faster from 64 bytes on. The request is kept ready between posts, since
/// most of it never changes. Not thread-safe.
class InlineRecord {
 public:
  /// `limit`: bytes that the queue pair takes inline.
  explicit InlineRecord(std::uint32_t limit) noexcept : limit_(limit) {
    request_.sg_list = parts_.data();
    request_.opcode = IBV_WR_RDMA_WRITE;
  }
  InlineRecord(const InlineRecord&) = delete;
  InlineRecord& operator=(const InlineRecord&) = delete;

  /// Whether calls of this type can be posted this way, as far as this end is concerned.
  template <class F>
  static constexpr bool takes() noexcept {
    return !together<F>() || ring_stride(sizeof(F)) + 2 * kRingWord <= kMaxTogether;
  }
  /// Where records go from now on.
  void set_rkey(std::uint32_t rkey) noexcept { request_.wr.rdma.rkey = rkey; }
  /// Whether it was arranged for calls of this function last.
  bool is_for(std::uint32_t function) const noexcept { return function == function_; }
  /// Makes ready for calls of this function. False: they are too large for the queue pair.
  template <class F>
  bool arrange(std::uint32_t function) noexcept {
    static_assert(takes<F>());
    return arrange({function, 1, sizeof(F)}, together<F>());
  }
  /// The record of such a call, whose lowest byte is to lie at `there`. To be posted before either
  /// changes.
  template <class F>
  ibv_send_wr& make(const F& callable, std::uint64_t there) noexcept {
    if constexpr (!together<F>()) {
      parts_[1].addr = reinterpret_cast<std::uint64_t>(&callable);
    } else if constexpr (!std::is_empty_v<F>) {
      dsfabric::detail::put_object(reinterpret_cast<std::byte*>(&words_[1]), callable);
    }
    request_.wr.rdma.remote_addr = there;
    return request_;
  }

 private:
  static constexpr std::uint32_t kParts = 3;
  static_assert(kParts <= dtutils::kScatterGather, "a queue pair must take them");
  static constexpr std::size_t kSmallCall = 32;
  static constexpr std::uint32_t kMaxTogether = 320;

  /// Small, or with bytes behind it that make up a whole word, or between its members.
  template <class F>
  static constexpr bool together() noexcept {
    return sizeof(F) <= kSmallCall || sizeof(F) % kRingWord != 0 ||
           !std::has_unique_object_representations_v<F>;
  }
  bool arrange(const RingHeader& header, bool together) noexcept {
    const std::uint32_t call_bytes = ring_stride(header.bytes);
    if (call_bytes + 2 * kRingWord > limit_) return false;
    function_ = header.function;
    header_ = header.encode();
    request_.num_sge = together ? 1 : kParts;
    if (together) {
      std::uint64_t* const end = &words_[1] + call_bytes / kRingWord;
      std::fill(words_.data(), end, 0);
      *end = header_;
      parts_[0] = part(words_[0], call_bytes + 2 * kRingWord);
    } else {
      words_[0] = 0;
      parts_ = {part(words_[0], kRingWord), ibv_sge{0, call_bytes, 0}, part(header_, kRingWord)};
    }
    return true;
  }
  static ibv_sge part(const std::uint64_t& first, std::uint32_t bytes) noexcept {
    return {reinterpret_cast<std::uint64_t>(&first), bytes, 0};
  }

  const std::uint32_t limit_;
  std::uint32_t function_ = RingHeader::kControl;
  std::uint64_t header_ = 0;
  std::array<ibv_sge, kParts> parts_{};
  ibv_send_wr request_{};
  std::array<std::uint64_t, kMaxTogether / kRingWord> words_{};
};

}  // namespace riutils::detail
