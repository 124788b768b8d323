// SPDX-License-Identifier: MIT
// One queue pair of this process: what its sender side needs beside the shared entry.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "shm/completion.hpp"
#include "shm/operation.hpp"
#include "shm/peer.hpp"
#include "shm/segment.hpp"
#include "shm/stride.hpp"

namespace dtutils::shm {

class Agent;
struct Chaos;

/// The regions of the last plain write, checked once, so that the next one to the same places needs
/// only a look at whether they are still registered. It is empty while a post may not be executed
/// at once: the pair is not ready, work is deferred, or the mode is adversarial.
struct WriteWindow {
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
  const RegionEntry* local = nullptr;
  const Translation* remote = nullptr;
};

enum class SendState : std::uint8_t {
  kNotReady,
  kReady,
  kBroken,
  /// This is a forked child: the queue pair belongs to the parent.
  kForked,
};

/// Values of ibv_wc::vendor_err that the shm device gives.
enum VendorError : std::uint32_t {
  kNoVendorError = 0,
  /// The peer's memory file could not be mapped (permissions, address space).
  kCannotMap = 0x101,
  /// The kernel forbids process_vm_readv/writev on the peer; register memory of a SharedSegment.
  kCannotCopy = 0x102,
  /// The peer's process has ended, or closed its device.
  kPeerDied = 0x103,
  /// The peer destroyed or reset its queue pair, or never connected it.
  kPeerClosed = 0x104,
  /// The adversarial mode broke the queue pair.
  kInjected = 0x105,
  /// What the peer's control segment says of the region cannot be: somebody wrote over it.
  kDamaged = 0x106,
  /// The peer's process is stopped in the middle of an operation, and memory that it was using had
  /// to be taken back.
  kPeerStopped = 0x107,
};

/// Work that could not be executed inside the post: copies of the requests, with their inline
/// bytes. Storage is made in set-up, and costs no pages before it is used. Under the send lock.
class DeferredQueue {
 public:
  DeferredQueue(std::uint32_t depth, std::uint32_t max_sge, std::uint32_t max_inline);

  bool empty() const noexcept { return first_ == last_; }
  void push(const ibv_send_wr& request, std::uint64_t position) noexcept;
  const ibv_send_wr& front() const noexcept { return slot(first_).request; }
  std::uint64_t front_position() const noexcept { return slot(first_).position; }
  void pop() noexcept { ++first_; }
  void clear() noexcept { first_ = last_; }

 private:
  struct Slot {
    ibv_send_wr request;
    std::uint64_t position;
  };
  const Slot& slot(std::uint64_t number) const noexcept { return slots_[number % depth_]; }

  const std::uint32_t depth_;
  const std::uint32_t max_sge_;
  const std::uint32_t max_inline_;
  // Nothing is in them but what was pushed.
  const std::unique_ptr<Slot[]> slots_;
  const std::unique_ptr<ibv_sge[]> elements_;
  const std::unique_ptr<std::byte[]> inline_bytes_;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
};

struct QueuePair {
  QueuePair(OwnSegment& own_segment, Agent& device_agent, const ibv_qp_init_attr& attributes);
  ~QueuePair();

  bool has_room() const noexcept {
    // Relaxed: only polled completions of this pair raise it, and a stale value errs on the safe
    // side.
    return posted - entry->sq_retired.load(std::memory_order_relaxed) < send_depth;
  }

  /// Lets go of regions that the agent has set aside. The agent, under the send lock.
  void forget_dead_regions() noexcept {
    const bool all = peer != nullptr && peer->regions().all_set_aside();
    if (region != nullptr && (all || !region->is_live())) region = nullptr;
    if (window.remote != nullptr && (all || !window.remote->is_live())) window = {};
  }

  /// First member, so that the device finds itself again from the ibv_qp that it handed out.
  ibv_qp verbs{};
  OwnSegment& own;
  Agent& agent;
  const IndexLease index;
  /// Empty with a shared receive queue.
  std::optional<RingLease> receives;
  QueuePairEntry* const entry;
  const CompletionQueueView* send_cq = nullptr;
  const CompletionQueueView* receive_cq = nullptr;
  /// Empty with a shared receive queue.
  std::optional<ReceiveQueueView> own_receives;
  const ReceiveQueueView* receive_queue = nullptr;

  // Set by the connection, and empty again once the peer has died: see forget_peer. They are
  // written under the agent's mutex and the send lock, and read under either.
  std::shared_ptr<Peer> peer;
  ControlSegment* remote_segment = nullptr;
  QueuePairEntry* remote = nullptr;
  std::optional<ReceiveQueueView> remote_receives;
  std::optional<CompletionQueueView> remote_completions;
  /// Of the channel of these completions.
  Bell remote_bell;
  std::uint32_t remote_number = 0;
  /// The peer's gate once this side claimed it, see claimed_gate() in layout.hpp.
  std::uint64_t remote_gate = 0;
  bool gate_claimed = false;
  /// Times that this side became ready to send.
  std::uint32_t incarnation = 0;
  /// What modify_qp was given since the last reset.
  ibv_qp_attr given{};

  const std::uint32_t send_depth;
  const std::uint32_t max_sge;
  const std::uint32_t max_inline;
  const bool signal_all;
  /// Bytes of an inline write that may go the shortest way; 0 with signal_all.
  const std::uint32_t small_limit;
  std::uint32_t pd = 0;
  std::uint8_t rnr_retry = 7;
  /// The pair may start READs and atomics (max_rd_atomic is not 0).
  bool reads_allowed = true;
  std::chrono::microseconds connect_timeout{0};

  /// Of the peer that this pair was connected to, which had not ended when the pair was closed.
  Operation outlives;

  /// In the agent's hands, as one with deferred work.
  std::atomic<bool> announced{false};
  QueuePair* next_announced = nullptr;

  // Under the send lock (send_state may be read without).
  std::atomic<SendState> send_state{SendState::kNotReady};
  /// Send queue position of the next post. It never goes back, not even in a reset, so that a
  /// completion polled late by another thread gives back nothing that is not its own.
  std::uint64_t posted = 0;
  Stride stride;
  const Translation* region = nullptr;
  WriteWindow window;
  /// What the dead peer held of this pair was recovered.
  bool recovered = false;
  std::uint32_t vendor_error = 0;
  /// Vendor error of receives that are flushed; read without the send lock, too.
  std::atomic<std::uint32_t> receive_error{kNoVendorError};
  /// Status of the next request that fails because the pair is broken.
  ibv_wc_status next_failure = IBV_WC_WR_FLUSH_ERR;
  DeferredQueue deferred;
  /// What the front of `deferred` waits for (kReceiverNotReady or kNotConnected; 0: nothing), and
  /// when it gives up.
  int waits_for = 0;
  std::chrono::steady_clock::time_point give_up_at{};
  /// Not null in the adversarial mode.
  std::unique_ptr<Chaos> chaos;
};

inline QueuePair& from_verbs(ibv_qp* qp) noexcept { return *reinterpret_cast<QueuePair*>(qp); }

/// Executes one request: an ibv_wc_status, or one of the two below, which leave nothing done.
inline constexpr int kReceiverNotReady = -1;
inline constexpr int kNotConnected = -2;
int execute(QueuePair& qp, const ibv_send_wr& request) noexcept;

/// Reports the end of the request at `position`; breaks the pair on an error. Under the send lock.
void complete(QueuePair& qp, const ibv_send_wr& request, std::uint64_t position,
              ibv_wc_status status) noexcept;
/// Puts a completion into the send completion queue; an overrun breaks the pair. Under the send
/// lock.
void deliver(QueuePair& qp, const Completion& completion) noexcept;
/// A request failed with `status`: breaks the pair, and the peer's if that found the error. Under
/// the send lock.
void fail_pair(QueuePair& qp, ibv_wc_status status) noexcept;
/// Takes the pair to the error state and flushes what it holds; the first request that fails from
/// now on gets `first`. Under the send lock.
void break_pair(QueuePair& qp, ibv_wc_status first) noexcept;
/// Executes deferred work until it is empty or has to wait. Under the send lock.
void run_deferred(QueuePair& qp) noexcept;

/// Frees what a peer that died held of the pair's queues, and completes as flushed the receive that
/// it had in its hands, if any. Does nothing when called again. Under the send lock.
void recover_from_death(QueuePair& qp) noexcept;

/// Lets go of the peer of a broken pair, which has died, so that the last pair to do so gives its
/// descriptors and mappings back. Under the agent's mutex and the send lock.
void forget_peer(QueuePair& qp) noexcept;

/// Completes all receives of the pair's own queue as flushed. Any thread of the owner.
void flush_receives(QueuePair& qp) noexcept;
/// Takes all receives of the pair's own queue back, without completions. Any thread of the owner.
void discard_receives(QueuePair& qp) noexcept;
}  // namespace dtutils::shm
