// SPDX-License-Identifier: MIT
// A reliable connected queue pair with explicit control: the user decides what is signaled.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "dtutils/completion_queue.hpp"
#include "dtutils/detail/work_request.hpp"
#include "dtutils/endpoint.hpp"
#include "dtutils/limits.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/post_flags.hpp"
#include "dtutils/shared_receive_queue.hpp"

namespace dtutils {

/// Answer of a post. Only kFull is worth another try, after polling.
enum class PostResult : std::uint8_t {
  kOk,
  /// The send or receive queue holds as many work requests as it can: poll completions, then retry.
  kFull,
  /// The queue pair is not connected, or it is in the error state; see QueuePair::state.
  kBroken,
  /// The device refuses the request itself: too many bytes inline, too many elements, bad opcode.
  kInvalid,
};

/// What a user may choose about a queue pair.
struct QueuePairOptions {
  /// Requests that the send queue holds.
  std::uint32_t send_depth = kSendDepth;
  /// Receives that the receive queue holds.
  std::uint32_t receive_depth = kReceiveDepth;
  /// Elements of one request at most.
  std::uint32_t scatter_gather = kScatterGather;
  /// Wanted inline bytes; the device may grant less, see max_inline().
  std::uint32_t max_inline = kInline;
  /// Receives come from here instead of the queue pair's own receive queue.
  SharedReceiveQueue* shared_receive_queue = nullptr;
  /// Posts never overlap: one thread at a time makes them. Writes are then posted from a request
  /// that the queue pair keeps, as in a loop written by hand.
  bool exclusive = false;
  /// Rights of the peer over the regions of this side, in addition to those of each region.
  int access = kAccessAll;
  /// Retries of a request that the peer does not acknowledge, 0 to 7 (ibv_modify_qp(3)).
  std::uint8_t retry_count = kRetryCount;
  /// Time before a retry: 4.096 us * 2^ack_timeout; 0 to 31.
  std::uint8_t ack_timeout = kAckTimeout;
  /// Retries when the peer has no receive posted, 0 to 6; 7 means without end.
  std::uint8_t rnr_retry = kRnrRetryForEver;
  /// The code of the time before such a retry, 0 to 31 (ibv_modify_qp(3)).
  std::uint8_t min_rnr_timer = kMinRnrTimer;
};

/// Seriema's IBQueuePair (section 3.2): state control and one method an operation, nothing hidden.
/// Buffers given to a post belong to the device until a completion of that post, or of a later one
/// on the same queue pair, was polled; with kInlined they are free again when the post returns.
/// Operations execute in the order of their posts.
///
/// Posts: any thread (as ibv_post_send(3)), but with `exclusive` one at a time; they never wait on
/// a peer, never allocate.
class QueuePair {
 public:
  /// Makes an unconnected pair. Throws Error when the device grants less than asked (except inline
  /// bytes). Setup only.
  QueuePair(ProtectionDomain& pd, CompletionQueue& send_completions,
            CompletionQueue& receive_completions, const QueuePairOptions& options = {});
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  ~QueuePair();

  /// What the peer needs for its `connect`. Setup only.
  Endpoint endpoint() const;
  /// Takes the pair to the ready-to-send state (INIT, RTR, RTS). Throws Error that says what does
  /// not fit (another kind of device, another host for shm, a state that is not RESET). Setup only.
  void connect(const Endpoint& peer);
  /// Takes the pair to the error state: everything outstanding completes with
  /// IBV_WC_WR_FLUSH_ERR. Setup only.
  void disconnect();
  /// Takes the pair back to where connect() starts, with another first packet sequence number.
  /// Completions that have not been polled are lost, on both of its queues. Throws Error. Setup
  /// only.
  void reset();
  /// Any thread. Turns to IBV_QPS_ERR when the device breaks the pair.
  ibv_qp_state state() const noexcept { return device_.qp_state(qp_); }

  /// Writes `from` to the beginning of `to`. `id` comes back as wr_id of the completion.
  [[nodiscard]] PostResult post_write(LocalBuffer from, const RemoteMemoryLocator& to,
                                      std::uint64_t id, unsigned flags) noexcept {
    if (options_.exclusive && from.length != 0) [[likely]] {
      ibv_send_wr& request = prepared_write_.fill(from, to);
      request.wr_id = id;
      request.send_flags = flags;
      return post_one(request);
    }
    return post_one(detail::WorkRequest(IBV_WR_RDMA_WRITE, from, id, flags).at(to).raw());
  }
  /// Also consumes a receive of the peer, whose completion carries `immediate` (see
  /// immediate_of in completion_queue.hpp).
  [[nodiscard]] PostResult post_write_with_immediate(LocalBuffer from,
                                                     const RemoteMemoryLocator& to,
                                                     std::uint32_t immediate, std::uint64_t id,
                                                     unsigned flags) noexcept {
    return post_one(detail::WorkRequest(IBV_WR_RDMA_WRITE_WITH_IMM, from, id, flags)
                        .at(to)
                        .immediate(immediate)
                        .raw());
  }
  /// Reads from the beginning of `from` as many bytes as `into` has.
  [[nodiscard]] PostResult post_read(LocalBuffer into, const RemoteMemoryLocator& from,
                                     std::uint64_t id, unsigned flags) noexcept {
    return post_one(detail::WorkRequest(IBV_WR_RDMA_READ, into, id, flags).at(from).raw());
  }
  /// Sends a message, which consumes a receive of the peer.
  [[nodiscard]] PostResult post_send(LocalBuffer from, std::uint64_t id, unsigned flags) noexcept {
    return post_one(detail::WorkRequest(IBV_WR_SEND, from, id, flags).raw());
  }
  /// The same; the completion at the peer carries `immediate`.
  [[nodiscard]] PostResult post_send_with_immediate(LocalBuffer from, std::uint32_t immediate,
                                                    std::uint64_t id, unsigned flags) noexcept {
    return post_one(
        detail::WorkRequest(IBV_WR_SEND_WITH_IMM, from, id, flags).immediate(immediate).raw());
  }
  /// The 8 bytes at `target` (8-byte aligned) become `desired` if they equal `expected`; their old
  /// value arrives in `old_value` (8 bytes) in either case.
  [[nodiscard]] PostResult post_compare_and_swap(LocalBuffer old_value,
                                                 const RemoteMemoryLocator& target,
                                                 std::uint64_t expected, std::uint64_t desired,
                                                 std::uint64_t id, unsigned flags) noexcept {
    return post_one(detail::WorkRequest(IBV_WR_ATOMIC_CMP_AND_SWP, old_value, id, flags)
                        .at(target, expected, desired)
                        .raw());
  }
  /// Adds `addend` to the 8 bytes at `target`; their old value arrives in `old_value`.
  [[nodiscard]] PostResult post_fetch_and_add(LocalBuffer old_value,
                                              const RemoteMemoryLocator& target,
                                              std::uint64_t addend, std::uint64_t id,
                                              unsigned flags) noexcept {
    return post_one(detail::WorkRequest(IBV_WR_ATOMIC_FETCH_AND_ADD, old_value, id, flags)
                        .at(target, addend, 0)
                        .raw());
  }
  /// Any work request or chain of them, as ibv_post_send(3). On anything but kOk, `*bad` is the
  /// first one that was not posted.
  [[nodiscard]] PostResult post(ibv_send_wr& requests, ibv_send_wr** bad) noexcept;
  /// Not with a shared receive queue. Only after connect.
  [[nodiscard]] PostResult post_receive(LocalBuffer buffer, std::uint64_t id) noexcept;

  /// What wait() found.
  enum class Wait : std::uint8_t { kCompleted, kNothingSignaled, kTimeout, kOverrun };
  /// Polls the send completion queue until a completion arrives, at most for `timeout`. Returns
  /// kNothingSignaled at once when nothing signaled is outstanding. For a send completion queue
  /// that serves this pair alone and that no other thread polls. Owner thread only.
  [[nodiscard]] Wait wait(ibv_wc& completion, std::chrono::milliseconds timeout) noexcept;

  /// Inline bytes of one request, as granted. Any thread, wait-free.
  std::uint32_t max_inline() const noexcept { return max_inline_; }
  /// Depth of the send queue as granted, at least what the options say.
  std::uint32_t send_depth() const noexcept { return options_.send_depth; }
  /// The device that it was made on. Any thread, wait-free.
  Device& device() const noexcept { return device_; }
  /// Where its send completions arrive. Any thread, wait-free.
  CompletionQueue& send_completions() const noexcept { return send_completions_; }
  /// The verbs object, for what this class does not wrap. Any thread, wait-free.
  ibv_qp* raw() const noexcept { return qp_; }

 private:
  PostResult post_one(ibv_send_wr& request) noexcept {
    const bool signaled = (request.send_flags & IBV_SEND_SIGNALED) != 0;
    // Relaxed: only a count; what it counts is ordered by the completion queue. Before the post,
    // where the lock inside has to wait for the same stores.
    if (signaled) signaled_posted_.fetch_add(1, std::memory_order_relaxed);
    ibv_send_wr* bad;
    const int code = ibv_post_send(qp_, &request, &bad);
    if (code != 0) [[unlikely]] {
      if (signaled) signaled_posted_.fetch_sub(1, std::memory_order_relaxed);
      return refusal(code);
    }
    return PostResult::kOk;
  }
  PostResult refusal(int code) const noexcept;

  Device& device_;
  CompletionQueue& send_completions_;
  QueuePairOptions options_;
  ibv_qp* qp_;
  std::uint32_t max_inline_;
  std::uint32_t psn_;
  /// Signaled posts so far and completions seen by `wait`; their difference is what wait may
  /// expect. On a cache line of its own: the members above are read by every posting thread.
  alignas(kCacheLine) std::atomic<std::uint64_t> signaled_posted_{0};
  std::uint64_t waited_{0};
  /// Used by exclusive queue pairs only.
  alignas(kCacheLine) detail::PreparedWrite prepared_write_;
};

}  // namespace dtutils
