// SPDX-License-Identifier: MIT
// Registered memory where the result of a remote call, or the news of its execution, arrives.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "dsfabric/detail/pending_reply.hpp"
#include "dsfabric/fabric.hpp"
#include "dsfabric/handler_scope.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/synchronizer.hpp"

namespace dsfabric {

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

namespace detail {

/// What travels with a call, so that its result finds the way back.
struct ReturnAddress {
  /// The slot's registered memory.
  std::uint64_t address;
  std::uint32_t rkey;
  /// Its place among those of its process that wait (PendingReply::place).
  std::uint32_t pending;
};

/// The registered memory of a slot is value | word | failure, so that a small value and the word
/// arrive by one write.
template <class T>
struct SlotLayout {
  static_assert(alignof(T) <= 64);
  static constexpr std::uint32_t kWordOffset = (sizeof(T) + 7) / 8 * 8;
};
template <>
struct SlotLayout<void> {
  static constexpr std::uint32_t kWordOffset = 0;
};
constexpr std::uint32_t failure_offset(std::uint32_t word_offset) noexcept {
  return word_offset + static_cast<std::uint32_t>(sizeof(dtutils::Synchronizer));
}

}  // namespace detail

/// Holds the result of one `call_return` at a time, for a value of type T (void: only the news that
/// the call was executed). It lives in registered memory, so the peer can write it there by itself.
/// Made once and used for many calls, one after the other. Owner thread only; the fabric outlives
/// it. When it is destroyed while a call is pending, its memory is not used again, because the
/// result may still be written there.
template <class T>
class ReturnSlot {
  static_assert(std::is_void_v<T> || std::is_trivially_copyable_v<T>,
                "cariama: the result of a remote call must be plain data (trivially copyable): no "
                "std::string or std::vector. Return the values, or answer by call_buffer.");
  using Word = dtutils::Synchronizer;
  static constexpr std::uint32_t kWordOffset = detail::SlotLayout<T>::kWordOffset;
  static constexpr std::uint32_t kFailureOffset = detail::failure_offset(kWordOffset);

 public:
  /// Throws Error when there is no registered memory left. Setup only.
  explicit ReturnSlot(Fabric& fabric)
      : fabric_(fabric),
        memory_(fabric.general_allocator().allocate(kFailureOffset + sizeof(CallFailure))),
        word_(new (memory_.data() + kWordOffset) Word(0)),
        failure_(new (memory_.data() + kFailureOffset) CallFailure) {}
  ReturnSlot(const ReturnSlot&) = delete;
  ReturnSlot& operator=(const ReturnSlot&) = delete;
  ~ReturnSlot() {
    tied_.reset();
    if (word_->done()) return;
    alignas(dtutils::RDMAMemory) std::byte kept[sizeof(dtutils::RDMAMemory)];
    new (kept) dtutils::RDMAMemory(std::move(memory_));
  }

  /// Prepares for one more call, which is tied to the life of the peer until get() returns. False:
  /// the peer is gone, the call must not be made, and get() will say so.
  bool expect(ProcessId peer) noexcept {
    tied_.reset();
    peer_ = peer;
    failure_->thrown = false;
    word_ = new (word_) Word(1);
    tied_.emplace(fabric_, peer, *word_);
    return static_cast<bool>(*tied_);
  }
  /// The call was not made after all.
  void refuse() noexcept {
    // Untied first: only one of the two may fail what is pending.
    tied_.reset();
    if (!word_->done()) word_->fail();
  }
  /// After expect().
  detail::ReturnAddress address() const {
    const dtutils::RemoteMemoryLocator memory = memory_.remote();
    return {memory.address, memory.rkey, tied_->place()};
  }
  /// Done when the result is here, or will never come.
  dtutils::Synchronizer& synchronizer() noexcept { return *word_; }
  /// Becomes true while this worker makes progress: a result of a call over rings may need it.
  bool done() const noexcept { return word_->done(); }

  /// Waits, serving incoming calls, and gives the result. Throws dtutils::Error with the text of an
  /// exception of the callable, PeerFailed when the process that was called is gone, and Error when
  /// an inline handler would have to wait here.
  T get() {
    // When many calls were made, most results are here before get() is called.
    const auto over = word_->outcome();
    if (!over) detail::require_may_wait(fabric_, "ReturnSlot::get()");
    const auto outcome = over ? *over : word_->wait();
    tied_.reset();
    if (outcome != dtutils::Synchronizer::Outcome::kDone) throw_failure();
    if constexpr (!std::is_void_v<T>) {
      return *std::launder(reinterpret_cast<const T*>(memory_.data()));
    }
  }

 private:
  [[noreturn]] void throw_failure() {
    if (failure_->thrown) {
      throw dtutils::Error("remote call", failure_->text.data(),
                           "the callable threw; see its own code");
    }
    if (fabric_.state(peer_) != PeerState::kActive) {
      throw PeerFailed(peer_, "a call with a result",
                       fabric_.failed(peer_) ? fabric_.failure_reason(peer_) : "it has left");
    }
    throw dtutils::Error("remote call", "it was not accepted, so it has no result",
                         "check the CallStatus of call_return");
  }

  Fabric& fabric_;
  dtutils::RDMAMemory memory_;
  Word* word_;
  CallFailure* failure_;
  std::optional<PendingReply> tied_;
  ProcessId peer_{};
};

}  // namespace dsfabric
