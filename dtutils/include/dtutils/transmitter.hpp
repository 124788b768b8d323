// SPDX-License-Identifier: MIT
// A queue pair that signals, polls and recycles send memory by itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

#include "dtutils/detail/completion_hooks.hpp"
#include "dtutils/queue_pair.hpp"
#include "dtutils/recyclable.hpp"
#include "dtutils/selective_signaling.hpp"
#include "dtutils/transmitter_options.hpp"

namespace dtutils {

/// Seriema's IBTransmitter (sections 3.2 and 4.1): the operations of QueuePair with automatic
/// selective signaling. The user never sees a completion. One request in k is signaled; a post
/// polls when many are unretired, and waits for the device only when the window is full
/// (SelectiveSignaling has the protocol and why it is right).
///
/// Buffers given to a post belong to the device until `tag()`, asked after the post, is done; with
/// kInlined they are free at once. A tag becomes done when somebody polls: a later post, progress,
/// wait or flush. Operations execute in the order of their posts.
///
/// Failure: the first failed completion breaks the Transmitter for good. From then on posts and
/// waits return false, and error() says why. Synchronizers of everything outstanding fail, and all
/// tags become done, as soon as somebody has polled the last flushed request (progress does). A
/// request that the device refuses (too many bytes inline, not connected) breaks it too.
///
/// Posts: any thread, wait-free as far as the device's own post and poll are (with a Synchronizer:
/// lock-free), as long as no more than `signaling.sharing_threads` threads use it. With 1 the
/// counters are updated by plain loads and stores, so calls must never overlap. Other methods: any
/// thread under the same rule. Nothing else may post on, or poll for, its queue pair's send side.
class Transmitter {
 public:
  /// Throws Error when the options break a relation of SelectiveSignaling, or the device grants
  /// less. Setup only.
  Transmitter(ProtectionDomain& pd, CompletionQueue& receive_completions,
              const TransmitterOptions& options = {});
  Transmitter(const Transmitter&) = delete;
  Transmitter& operator=(const Transmitter&) = delete;
  /// Fails the Synchronizers of what is outstanding; flush first to avoid that. Then all its tags
  /// are done, because the device has let go of the queue pair.
  ~Transmitter();

  /// Setup only.
  Endpoint endpoint() const { return queue_pair_.endpoint(); }
  /// As QueuePair::connect. Setup only.
  void connect(const Endpoint& peer) { queue_pair_.connect(peer); }
  /// As QueuePair::reset, so that it can be connected with another peer. It is idle(), and nobody
  /// posts. Tags keep their meaning. Throws Error. Setup only.
  void reset() { queue_pair_.reset(); }
  /// For its receive side and its state.
  QueuePair& queue_pair() noexcept { return queue_pair_; }

  /// The posts: false only when broken.
  [[nodiscard]] bool write(LocalBuffer from, const RemoteMemoryLocator& to,
                           PostOptions options = {}) noexcept {
    std::uint64_t ticket;
    if (from.length != 0 && options.sent == nullptr && signaling_.try_take_unsignaled(ticket))
        [[likely]] {
      ibv_send_wr& request = prepared_write_.fill(from, to);
      // Most often the same as before, and a load costs less than a store here.
      if (request.send_flags != options.flags) request.send_flags = options.flags;
      request.wr_id = ticket << kSlotBits;
      return hand_over(request);
    }
    return transmit_checked(detail::WorkRequest(IBV_WR_RDMA_WRITE, from).at(to).raw(), options);
  }
  /// As QueuePair::post_write_with_immediate.
  [[nodiscard]] bool write_with_immediate(LocalBuffer from, const RemoteMemoryLocator& to,
                                          std::uint32_t immediate,
                                          PostOptions options = {}) noexcept {
    return transmit(
        detail::WorkRequest(IBV_WR_RDMA_WRITE_WITH_IMM, from).at(to).immediate(immediate).raw(),
        options);
  }
  /// As QueuePair::post_read.
  [[nodiscard]] bool read(LocalBuffer into, const RemoteMemoryLocator& from,
                          PostOptions options = {}) noexcept {
    return transmit(detail::WorkRequest(IBV_WR_RDMA_READ, into).at(from).raw(), options);
  }
  /// As QueuePair::post_send.
  [[nodiscard]] bool send(LocalBuffer from, PostOptions options = {}) noexcept {
    return transmit(detail::WorkRequest(IBV_WR_SEND, from).raw(), options);
  }
  /// As QueuePair::post_send_with_immediate.
  [[nodiscard]] bool send_with_immediate(LocalBuffer from, std::uint32_t immediate,
                                         PostOptions options = {}) noexcept {
    return transmit(detail::WorkRequest(IBV_WR_SEND_WITH_IMM, from).immediate(immediate).raw(),
                    options);
  }
  /// The old value of the 8 bytes at `target` arrives in `old_value`.
  [[nodiscard]] bool compare_and_swap(LocalBuffer old_value, const RemoteMemoryLocator& target,
                                      std::uint64_t expected, std::uint64_t desired,
                                      PostOptions options = {}) noexcept {
    return transmit(detail::WorkRequest(IBV_WR_ATOMIC_CMP_AND_SWP, old_value)
                        .at(target, expected, desired)
                        .raw(),
                    options);
  }
  /// As QueuePair::post_fetch_and_add.
  [[nodiscard]] bool fetch_and_add(LocalBuffer old_value, const RemoteMemoryLocator& target,
                                   std::uint64_t addend, PostOptions options = {}) noexcept {
    return transmit(
        detail::WorkRequest(IBV_WR_ATOMIC_FETCH_AND_ADD, old_value).at(target, addend, 0).raw(),
        options);
  }

  /// A request that the caller keeps ready and posts again and again, so that only what changes is
  /// filled in anew; it may gather several elements. `next` is nullptr. Its wr_id and send_flags
  /// are set here. It may be changed as soon as this returns.
  [[nodiscard]] [[gnu::always_inline]] bool post(ibv_send_wr& request,
                                                 PostOptions options = {}) noexcept {
    SelectiveSignaling& signaling = signaling_;
    if (signaling.exclusive() || options.sent != nullptr) return transmit(request, options);
    const std::uint64_t ticket = signaling.take_shared();
    // Two branches that are hardly ever taken are faster here than flags put together as below.
    if (!signaling.below_signal_threshold(ticket) || signaling.signals_regularly(ticket))
        [[unlikely]] {
      return hand_over_admitted(request, ticket, options.flags);
    }
    return hand_over(request, ticket, options.flags);
  }

  /// A write or send of all of an RDMAMemory, which is tagged, so that its allocator hands it out
  /// again when the transfer is done.
  template <Recyclable Memory>
  [[nodiscard]] bool write(Memory& from, const RemoteMemoryLocator& to,
                           PostOptions options = {}) noexcept {
    return write(from.local(), to, options) && recycle(from);
  }
  /// Sends all of a memory and tags it.
  template <Recyclable Memory>
  [[nodiscard]] bool send(Memory& from, PostOptions options = {}) noexcept {
    return send(from.local(), options) && recycle(from);
  }
  /// Tags such a memory with the last post. Waits for that post when the memory has no room for
  /// another queue pair's tag; false when broken.
  template <Recyclable Memory>
  [[nodiscard]] bool recycle(Memory& memory) noexcept {
    const RetireTag last = tag();
    return memory.retire_at(last) || wait(last);
  }

  /// Blocking forms, which wait for the result: false or empty when broken. They poll this
  /// Transmitter only, and run no hook. The atomics need no registered memory of the caller.
  [[nodiscard]] bool blocking_read(LocalBuffer into, const RemoteMemoryLocator& from) noexcept;
  /// The value before.
  std::optional<std::uint64_t> blocking_fetch_and_add(const RemoteMemoryLocator& target,
                                                      std::uint64_t addend) noexcept;
  /// The value before; the swap took place if it equals `expected`.
  std::optional<std::uint64_t> blocking_compare_and_swap(const RemoteMemoryLocator& target,
                                                         std::uint64_t expected,
                                                         std::uint64_t desired) noexcept;

  /// For the memory of posts that this thread has made; ask after the post.
  RetireTag tag() const noexcept { return signaling_.tag(); }

  /// Polls for one completion and handles it; true when there was one. Never waits.
  bool progress() noexcept;
  /// Waits until the tag, one of this Transmitter's, is done, without waiting for further traffic:
  /// it posts an empty signaled write if needed. False when broken, or after `timeout` (a send to a
  /// peer that posts no receive never ends when rnr_retry is 7). False at once for a tag of another
  /// Transmitter that is not done.
  [[nodiscard]] bool wait(
      RetireTag tag, std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) noexcept;
  /// Waits until every post that has returned by now, of any thread, is done. As wait.
  [[nodiscard]] bool flush(
      std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) noexcept {
    return wait(tag(), timeout);
  }
  /// Everything that was posted is known to be done: a flush would return at once. Any thread,
  /// wait-free.
  bool idle() const noexcept { return signaling_.retired() >= signaling_.issued(); }
  /// Waits for a Synchronizer by polling this Transmitter, for programs without upper layers.
  Synchronizer::Outcome wait(
      const Synchronizer& synchronizer,
      std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) noexcept;

  /// Of one whose peer is gone for good: finds out, by an empty write, that it is broken, and then
  /// gives back the registered memory that blocking atomics used. False: the peer's device still
  /// answers, or something that was posted has not been flushed; try again later. Posts and other
  /// methods of other threads, which find it broken, may run meanwhile. One thread at a time; setup
  /// only.
  bool give_back() noexcept;

  /// A transfer has failed.
  bool broken() const noexcept { return error_.load(std::memory_order_acquire) != 0; }
  /// What failed first, for describe(); empty when nothing has. Its wr_id is unknown (0).
  std::optional<ibv_wc> error() const noexcept;
  /// Its counters, for tests and tools.
  const SelectiveSignaling& signaling() const noexcept { return signaling_; }

 private:
  struct RetireAll {
    void operator()(SelectiveSignaling* signaling) const noexcept { signaling->retire_all(); }
  };

  // A wr_id is: bits 63..16 ticket (its low 48 bits) | bits 15..0 slot of CompletionHooks, or 0, or
  // kDrainSlot for the marker after a failure.
  static constexpr unsigned kSlotBits = 16;
  static constexpr std::uint64_t kSlotMask = (1u << kSlotBits) - 1;
  static constexpr std::uint32_t kDrainSlot = kSlotMask;
  static_assert(detail::CompletionHooks::kMaxSlots < kDrainSlot);

  using Admission = SelectiveSignaling::Admission;

  [[gnu::always_inline]] bool transmit(ibv_send_wr& request, PostOptions options) noexcept {
    std::uint64_t ticket;
    if (options.sent == nullptr && signaling_.try_take_unsignaled(ticket)) {
      return hand_over(request, ticket, options.flags);
    }
    return transmit_checked(request, options);
  }
  /// When the request may have to be signaled.
  [[gnu::always_inline]] bool transmit_checked(ibv_send_wr& request, PostOptions options) noexcept {
    if (options.sent != nullptr) {
      return transmit_tracked(request, options);
    }
    const std::uint64_t ticket = signaling_.take();
    bool signaled = signaling_.signals_regularly(ticket);
    if (!signaling_.below_signal_threshold(ticket)) [[unlikely]] {
      const Admission admission = wait_for_admission(ticket);
      if (admission == Admission::kBroken) {
        return false;
      }
      signaled = admission == Admission::kSignaled;
    }
    return hand_over(request, ticket, options.flags | (signaled ? IBV_SEND_SIGNALED : 0));
  }
  [[gnu::always_inline]] bool hand_over(ibv_send_wr& request, std::uint64_t ticket,
                                        unsigned flags) noexcept {
    request.wr_id = ticket << kSlotBits;
    request.send_flags = flags;
    return hand_over(request);
  }
  [[gnu::always_inline]] bool hand_over(ibv_send_wr& request) noexcept {
    ibv_send_wr* bad;
    const int code = ibv_post_send(qp_, &request, &bad);
    if (code != 0) [[unlikely]] {
      refused(code);
      return false;
    }
    return true;
  }
  /// The rest of a post with a ticket that is to be signaled, or is not admitted yet.
  bool hand_over_admitted(ibv_send_wr& request, std::uint64_t ticket, unsigned flags) noexcept;
  bool transmit_tracked(ibv_send_wr& request, PostOptions options) noexcept;
  bool transmit_in_slot(ibv_send_wr& request, unsigned flags, std::uint32_t slot) noexcept;
  std::uint32_t claim(Synchronizer& synchronizer, detail::CompletionHooks::After after) noexcept;
  std::optional<std::uint64_t> blocking_atomic(ibv_wr_opcode opcode,
                                               const RemoteMemoryLocator& target,
                                               std::uint64_t compare_or_add,
                                               std::uint64_t swap) noexcept;
  /// Waits until the ticket may be posted, or the Transmitter is broken.
  Admission wait_for_admission(std::uint64_t ticket) noexcept;
  void refused(int code) noexcept;
  void fail(const ibv_wc& completion) noexcept;
  void drain() noexcept;
  std::uint64_t ticket_of(std::uint64_t wr_id) const noexcept;

  // Read by every post, written never.
  ibv_qp* qp_;
  /// First failure: vendor_err << 32 | opcode << 16 | status; 0 for none.
  std::atomic<std::uint64_t> error_{0};
  enum class Drain : std::uint8_t { kIdle, kPosting, kPosted };
  std::atomic<Drain> drain_{Drain::kIdle};
  SelectiveSignaling& signaling_;
  // The queue pair goes first, so that the device is done with what the others own, and with memory
  // whose tags this ends.
  std::unique_ptr<SelectiveSignaling, RetireAll> tags_end_{&signaling_};
  detail::CompletionHooks hooks_;
  struct FreeDeleter {
    void operator()(std::uint64_t* memory) const noexcept { std::free(memory); }
  };
  /// One word a slot, where blocking atomics get their result.
  std::unique_ptr<std::uint64_t[], FreeDeleter> results_;
  /// Empty after give_back; posts know its key.
  std::optional<MemoryRegion> result_region_;
  const std::uint32_t result_key_;
  /// What retired() must reach before give_back writes again.
  std::uint64_t asked_ = 0;
  CompletionQueue send_completions_;
  QueuePair queue_pair_;
  /// Used if there is one thread only.
  alignas(kCacheLine) detail::PreparedWrite prepared_write_;
};

}  // namespace dtutils
