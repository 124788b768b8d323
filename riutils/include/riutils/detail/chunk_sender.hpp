// SPDX-License-Identifier: MIT
// From a mirror into its remote chunk: many records by one write, or one call by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dsfabric/callable.hpp"
#include "dsfabric/ids.hpp"
#include "dtutils/transmitter.hpp"
#include "riutils/detail/chunk_writer.hpp"
#include "riutils/detail/inline_record.hpp"
#include "riutils/detail/ring_header.hpp"

namespace riutils::detail {

/// Knows the remote chunk in use and the queue pair that leads there.
///
/// Owner thread only.
class ChunkSender {
 public:
  ChunkSender(dtutils::Transmitter& transmitter, dsfabric::ProcessId to) noexcept
      : transmitter_(&transmitter),
        inline_limit_(transmitter.queue_pair().max_inline()),
        in_order_(transmitter.queue_pair().device().data_in_order(transmitter.queue_pair().raw(),
                                                                  IBV_WR_RDMA_WRITE)),
        record_(inline_limit_),
        to_(to) {}

  dtutils::Transmitter& transmitter() const noexcept { return *transmitter_; }
  /// RDMA writes posted.
  std::uint64_t writes() const noexcept { return writes_ + posted_; }
  /// Calls posted by try_post.
  std::uint64_t posted() const noexcept { return posted_; }
  /// Bytes of a write land in ascending order.
  bool in_order() const noexcept { return in_order_; }
  /// A post might have to wait for the device.
  bool is_backlogged() const noexcept {
    const dtutils::SelectiveSignaling& signaling = transmitter_->signaling();
    return signaling.issued() - signaling.retired() > kUnretired;
  }

  /// From now on bytes of `mirror` go to the same places of `chunk`.
  void aim(const dtutils::RemoteMemoryLocator& chunk, const dtutils::LocalBuffer& mirror) noexcept {
    to_remote_ = chunk.address - reinterpret_cast<std::uint64_t>(mirror.address);
    rkey_ = chunk.rkey;
    record_.set_rkey(rkey_);
    lkey_ = mirror.lkey;
  }
  /// try_post may use the chunk down to `begin`.
  void allow_posts(const std::byte* begin) noexcept {
    post_floor_ = reinterpret_cast<std::uintptr_t>(begin);
  }
  void forbid_posts() noexcept { post_floor_ = kNever; }

  /// Posts what lies from `low`, a word that is not a call's, up to `high`; the highest word, for
  /// which the receiver waits, lands last. Answers from where on the mirror is free again: `low`
  /// itself may still be read by the device, and then all further bytes go one word higher than
  /// they lie, so that the next header takes its place there. nullptr: the peer is gone.
  std::byte* write(std::byte* low, std::byte* high, dtutils::Synchronizer* sent) noexcept;

  /// One call, serialized below what `writer` has and sent at once. False: nothing was done,
  /// because something is unsent, or the chunk is full, or this is not the usual case.
  template <class F>
  bool try_post(ChunkWriter& writer, std::uint32_t function, const F& callable) noexcept;

 private:
  /// Unretired requests above which a call makes progress first, instead of waiting inside a post.
  /// Posts poll from kSignalAllFrom on, so more than that means that the device is slow.
  static constexpr std::uint64_t kUnretired = dtutils::kSignalAllFrom + 8;
  static constexpr std::uintptr_t kNever = std::uintptr_t{1} << 63;

  /// try_post for the first of several calls to one function.
  template <class F>
  [[gnu::noinline]] bool arrange_and_post(ChunkWriter& writer, std::uint32_t function,
                                          const F& callable) noexcept;
  /// try_post for a call that is too large to be sent inline.
  template <class F>
  [[gnu::noinline]] bool post_from_mirror(ChunkWriter& writer, std::uint32_t function,
                                          const F& callable) noexcept;
  std::uint64_t remote(const std::byte* in_mirror) const noexcept {
    return reinterpret_cast<std::uint64_t>(in_mirror) + to_remote_;
  }

  std::uintptr_t post_floor_ = kNever;
  dtutils::Transmitter* transmitter_;
  /// Remote minus local address.
  std::uint64_t to_remote_ = 0;
  std::uint32_t lkey_ = 0;
  std::uint32_t rkey_ = 0;
  std::uint32_t inline_limit_;
  bool in_order_;
  /// Calls that were sent at once, each by one write, and counted in no other way.
  std::uint64_t posted_ = 0;
  InlineRecord record_;
  dsfabric::ProcessId to_;
  std::uint64_t writes_ = 0;
};

template <class F>
inline bool ChunkSender::try_post(ChunkWriter& writer, std::uint32_t function,
                                  const F& callable) noexcept {
  constexpr std::uint32_t kStride = ring_stride(sizeof(F));
  std::byte* const at = writer.at();
  if (writer.has_unsent() ||
      reinterpret_cast<std::uintptr_t>(at) < post_floor_ + kStride + kRingOverhead ||
      is_backlogged()) [[unlikely]] {
    return false;
  }
  if constexpr (InlineRecord::takes<F>()) {
    if (!record_.is_for(function)) [[unlikely]]
      return arrange_and_post(writer, function, callable);
    ibv_send_wr& request = record_.make(callable, remote(at - kStride - 2 * kRingWord));
    // Before the post, so that nothing has to be kept in a register meanwhile.
    writer.pass(kStride + kRingWord);
    ++posted_;
    if (transmitter_->post(request, dtutils::kInlined)) [[likely]]
      return true;
    writer.pass(-std::ptrdiff_t{kStride + kRingWord});
    --posted_;
    return false;
  } else {
    return post_from_mirror(writer, function, callable);
  }
}

template <class F>
bool ChunkSender::arrange_and_post(ChunkWriter& writer, std::uint32_t function,
                                   const F& callable) noexcept {
  if (function == dsfabric::detail::kLateFunction) return false;
  return record_.arrange<F>(function) ? try_post(writer, function, callable)
                                      : post_from_mirror(writer, function, callable);
}

template <class F>
bool ChunkSender::post_from_mirror(ChunkWriter& writer, std::uint32_t function,
                                   const F& callable) noexcept {
  if (function == dsfabric::detail::kLateFunction) return false;
  constexpr std::uint32_t kBytes = ring_stride(sizeof(F)) + 2 * kRingWord;
  std::byte* const low = writer.at() - kBytes;
  put_word(writer.at() - kRingWord,
           RingHeader{function, 1, static_cast<std::uint32_t>(sizeof(F))}.encode());
  put(low + kRingWord, callable);
  put_word(low, 0);
  if (!transmitter_->write({low, kBytes, lkey_}, {remote(low), kBytes, rkey_, 0, 0})) [[unlikely]] {
    return false;
  }
  // The device may still have to read the zero.
  to_remote_ += kRingWord;
  writer.go_on_at(low);
  ++posted_;
  return true;
}

}  // namespace riutils::detail
