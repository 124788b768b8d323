// SPDX-License-Identifier: MIT
// One call as one work request whose parts the device gathers from where they lie.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dtutils/limits.hpp"
#include "riutils/ring_header.hpp"

namespace riutils {

/// The bytes of a callable, rounded up to whole words.
template <class F>
class WholeWords {
 public:
  explicit WholeWords(const F& callable) noexcept {
    if constexpr (kCopied) {
      words_.back() = 0;
      if constexpr (!std::is_empty_v<F>) {
        std::memcpy(words_.data(), static_cast<const void*>(&callable), sizeof callable);
      }
    } else {
      at_ = &callable;
    }
  }
  std::uint64_t address() const noexcept {
    const void* at = at_;
    if constexpr (kCopied) at = words_.data();
    return reinterpret_cast<std::uint64_t>(at);
  }

 private:
  static constexpr bool kCopied = std::is_empty_v<F> || sizeof(F) % kRingWord != 0;

  std::array<std::uint64_t, kCopied ? ring_stride(sizeof(F)) / kRingWord : 0> words_;
  const void* at_ = nullptr;
};

/// A record with one call (ring_header.hpp) that is posted inline: the zero word below, the call,
/// the header. The device copies them in the post, so they are serialized nowhere else. Kept ready
/// between posts, since most of it never changes. Not thread-safe.
class InlineRecord {
 public:
  InlineRecord() noexcept {
    request_.sg_list = parts_.data();
    request_.num_sge = static_cast<int>(parts_.size());
    request_.opcode = IBV_WR_RDMA_WRITE;
  }
  InlineRecord(const InlineRecord&) = delete;
  InlineRecord& operator=(const InlineRecord&) = delete;

  /// Where records go from now on.
  void set_rkey(std::uint32_t rkey) noexcept { request_.wr.rdma.rkey = rkey; }
  /// The record of `call`, of one word at least, whose lowest byte is to lie at `there`.
  template <class F>
  ibv_send_wr& make(const RingHeader& header, const WholeWords<F>& call,
                    std::uint64_t there) noexcept {
    // Most often the same as before: then one load instead of two stores.
    if (const std::uint64_t word = header.encode(); word != header_) {
      header_ = word;
      parts_[1].length = ring_stride(sizeof(F));
    }
    parts_[1].addr = call.address();
    request_.wr.rdma.remote_addr = there;
    return request_;
  }

 private:
  static ibv_sge word_at(const std::uint64_t& word) noexcept {
    return {reinterpret_cast<std::uint64_t>(&word), kRingWord, 0};
  }

  static constexpr std::uint32_t kParts = 3;
  static_assert(kParts <= dtutils::kScatterGather, "a queue pair must take them");

  const std::uint64_t zero_ = 0;
  std::uint64_t header_ = 0;
  std::array<ibv_sge, kParts> parts_{word_at(zero_), ibv_sge{}, word_at(header_)};
  ibv_send_wr request_{};
};

}  // namespace riutils
