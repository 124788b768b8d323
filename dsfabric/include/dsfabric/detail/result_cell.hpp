// SPDX-License-Identifier: MIT
// Registered memory where the result of one remote call at a time arrives: what slots and futures
// are made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dsfabric/detail/pending_reply.hpp"
#include "dsfabric/fabric.hpp"
#include "dsfabric/handler_scope.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/travels.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/synchronizer.hpp"

namespace dsfabric::detail {

/// Why a call has no result.
struct CallFailure {
  /// Bytes of `text`, with the zero at its end.
  static constexpr std::size_t kTextSize = 119;
  /// An exception left the callable; otherwise the peer is gone.
  bool thrown = false;
  /// what() of the exception, cut off; empty otherwise.
  std::array<char, kTextSize> text{};
};
static_assert(sizeof(CallFailure) == 120);

/// What travels with a call, so that its result finds the way back.
struct ReturnAddress {
  /// Where the value begins, in registered memory of the caller.
  std::uint64_t address;
  std::uint32_t rkey;
  /// Its place among those of its process that wait (PendingReply::place).
  std::uint32_t pending;
};

/// A result that is no plain data arrives as its length, 8 bytes, and what its Travels made of it.
inline constexpr std::uint32_t kPackedResult = 4096;

/// A result arrives as value | word | failure, so that a small value and the word come by one
/// write.
template <class T>
struct SlotLayout {
  static_assert(alignof(T) <= 64);
  static_assert(!kNamesMemory<T>,
                "cariama: a pointer, std::string_view, std::span or std::reference_wrapper as the "
                "result of a remote call names memory of the process that was called. Return the "
                "value, a std::string or std::vector of it, or a GlobalPtr.");
  static constexpr bool kPlain = std::is_trivially_copyable_v<T>;
  static constexpr std::uint32_t kWordOffset = kPlain ? (sizeof(T) + 7) / 8 * 8 : kPackedResult;
};
template <>
struct SlotLayout<void> {
  static constexpr bool kPlain = true;
  static constexpr std::uint32_t kWordOffset = 0;
};
constexpr std::uint32_t failure_offset(std::uint32_t word_offset) noexcept {
  return word_offset + static_cast<std::uint32_t>(sizeof(dtutils::Synchronizer));
}

/// What a result that was packed came as. Throws CorruptBytes when no length can be that long.
std::span<const std::byte> packed_result(const std::byte* value);

/// The Error of a call whose result or reports shall go to `where`, while those of an earlier one
/// are still awaited there.
[[noreturn]] void throw_pending(std::string_view where);

/// Holds the result of one call at a time, for one call after the other. The word has a fixed
/// place, and a value ends just before it, so one cell serves values of several sizes. Destroyed
/// while a call is pending, it gives its memory to nobody else, because the result may still be
/// written there. Owner thread only; the fabric outlives it.
class ResultCell {
 public:
  using Word = dtutils::Synchronizer;

  /// For values of at most `value_bytes` bytes, a multiple of 8. Throws Error when there is no
  /// registered memory left. Setup only.
  ResultCell(Fabric& fabric, std::uint32_t value_bytes)
      : fabric_(fabric),
        memory_(
            fabric.general_allocator().allocate(failure_offset(value_bytes) + sizeof(CallFailure))),
        word_(new(memory_.data() + value_bytes) Word(0)),
        failure_(new(memory_.data() + failure_offset(value_bytes)) CallFailure) {}
  ResultCell(const ResultCell&) = delete;
  ResultCell& operator=(const ResultCell&) = delete;
  ~ResultCell() {
    tied_.reset();
    if (word_->done()) return;
    alignas(dtutils::RDMAMemory) std::byte kept[sizeof(dtutils::RDMAMemory)];
    new (kept) dtutils::RDMAMemory(std::move(memory_));
  }

  /// Prepares for one more call, which is tied to the life of the peer until the result is taken.
  /// False: the peer is gone or too many calls wait, and the call must not be made. Throws Error
  /// while a call is pending: its result would be taken for that of the new one.
  bool expect(ProcessId peer) {
    if (!word_->done()) [[unlikely]]
      throw_pending("a ReturnSlot");
    tied_.reset();
    peer_ = peer;
    gone_ = false;
    failure_->thrown = false;
    word_ = new (word_) Word(1);
    tied_.emplace(fabric_, peer, *word_);
    return static_cast<bool>(*tied_);
  }
  /// The call was not made after all; `gone`: because its connection has broken, which the failure
  /// detector may not have heard of yet.
  void refuse(bool gone) noexcept {
    gone_ = gone;
    // Untied first: only one of the two may fail what is pending.
    tied_.reset();
    if (!word_->done()) word_->fail();
  }
  /// After expect(): where a value whose word lies `word_offset` bytes behind its beginning goes.
  ReturnAddress address(std::uint32_t word_offset) const noexcept {
    return {reinterpret_cast<std::uint64_t>(word_) - word_offset, memory_.rkey(), tied_->place()};
  }
  /// The beginning of such a value.
  const std::byte* value(std::uint32_t word_offset) const noexcept {
    return reinterpret_cast<const std::byte*>(word_) - word_offset;
  }
  Word& word() noexcept { return *word_; }
  bool done() const noexcept { return word_->done(); }
  /// The call is over; nothing may be pending.
  void release() noexcept { tied_.reset(); }

  /// Waits until the call is over, serving incoming calls. Throws Error that names `what` when an
  /// inline handler would have to wait, and what handlers throw: then the call is still pending.
  void wait(std::string_view what) {
    // When many calls were made, most results are here before they are asked for.
    if (!word_->done()) wait_until_done(what);
  }
  /// The call is over. Throws what it failed of: Error or PeerFailed.
  void finish() {
    const auto outcome = word_->outcome();
    tied_.reset();
    if (outcome != Word::Outcome::kDone) throw_failure();
  }

  Fabric& fabric() const noexcept { return fabric_; }
  /// Whom the last call went to.
  ProcessId peer() const noexcept { return peer_; }

  /// Fails the process that sent an invalid result, and throws PeerFailed.
  [[noreturn]] void throw_corrupt() const;

 private:
  void wait_until_done(std::string_view what);
  [[noreturn]] void throw_failure() const;

  Fabric& fabric_;
  dtutils::RDMAMemory memory_;
  Word* word_;
  CallFailure* failure_;
  std::optional<PendingReply> tied_;
  ProcessId peer_{};
  bool gone_ = false;
};

}  // namespace dsfabric::detail
