// SPDX-License-Identifier: MIT
// Registered memory where the result of a remote call, or the news of its execution, arrives.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include "dsfabric/fabric.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/pending_reply.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/synchronizer.hpp"

namespace dsfabric {

/// Why a call has no result.
struct CallFailure {
  static constexpr std::size_t kTextSize = 119;
  /// An exception left the callable; otherwise the peer is gone.
  bool thrown = false;
  /// what() of the exception, cut off; empty otherwise.
  std::array<char, kTextSize> text{};
};
static_assert(sizeof(CallFailure) == 120);

namespace detail {

/// What travels with a call, so that its result finds the way back. The slot's registered memory is
/// value | word | failure, so that a small value and the word arrive by one write.
struct ReturnAddress {
  dtutils::RemoteMemoryLocator slot;
  std::uint32_t word_offset;
  std::uint32_t failure_offset;
};

}  // namespace detail

/// Holds the result of one `call_return` at a time, for a value of type T (void: only the news that
/// the call was executed). It lives in registered memory, so the peer writes it there by itself.
/// Made once and used for many calls, one after the other. Owner thread only; the fabric outlives
/// it. It must not be destroyed while a call is pending.
template <class T>
class ReturnSlot {
  static_assert(std::is_void_v<T> || std::is_trivially_copyable_v<T>,
                "cariama: the result of a remote call must be plain data (trivially copyable): no "
                "std::string or std::vector. Return the values, or answer by call_buffer.");
  using Word = dtutils::Synchronizer;
  static constexpr std::uint32_t word_offset() {
    if constexpr (std::is_void_v<T>) {
      return 0;
    } else {
      static_assert(alignof(T) <= 64);
      return (sizeof(T) + alignof(Word) - 1) / alignof(Word) * alignof(Word);
    }
  }
  static constexpr std::uint32_t kFailureOffset = word_offset() + sizeof(Word);

 public:
  /// Throws Error when there is no registered memory left. Setup only.
  explicit ReturnSlot(Fabric& fabric)
      : fabric_(fabric),
        memory_(fabric.general_allocator().allocate(kFailureOffset + sizeof(CallFailure))),
        word_(new (memory_.data() + word_offset()) Word(0)),
        failure_(new (memory_.data() + kFailureOffset) CallFailure) {}
  ReturnSlot(const ReturnSlot&) = delete;
  ReturnSlot& operator=(const ReturnSlot&) = delete;

  /// Prepares for one more call, which is tied to the life of the peer until get() returns. False:
  /// the peer is gone, the call must not be made, and get() will say so.
  bool expect(ProcessId peer) noexcept {
    tied_.reset();
    *failure_ = {};
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
  detail::ReturnAddress address() const {
    return {memory_.remote(), word_offset(), kFailureOffset};
  }
  dtutils::Synchronizer& synchronizer() noexcept { return *word_; }
  bool done() const noexcept { return word_->done(); }

  /// Waits, serving incoming calls, and gives the result. Throws dtutils::Error with the text of an
  /// exception of the callable, or when the peer is gone.
  T get() {
    const auto outcome = word_->wait();
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
    throw dtutils::Error("remote call", "its process is gone, or refused it",
                         "see Fabric::failure_reason");
  }

  Fabric& fabric_;
  dtutils::RDMAMemory memory_;
  Word* word_;
  CallFailure* failure_;
  std::optional<PendingReply> tied_;
};

}  // namespace dsfabric
