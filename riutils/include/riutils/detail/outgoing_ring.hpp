// SPDX-License-Identifier: MIT
// The sending end of one ring: calls are serialized here, once, and written to the receiver.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dsfabric/callable.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/transmitter.hpp"
#include "riutils/counters.hpp"
#include "riutils/detail/call_queue.hpp"
#include "riutils/detail/chunk_circle.hpp"
#include "riutils/detail/chunk_sender.hpp"
#include "riutils/detail/chunk_writer.hpp"
#include "riutils/detail/ring_header.hpp"
#include "riutils/detail/room_waiters.hpp"
#include "riutils/options.hpp"

namespace riutils {
class RingSet;
}  // namespace riutils

namespace riutils::detail {

/// What a channel wants done with its calls.
struct SendPolicy {
  /// What a call does while the ring is full.
  WhenFull when_full = WhenFull::kRetry;
  /// While the ring is full, calls are queued first; `when_full` counts at queue_limit.
  bool queue = false;
  /// Bytes that are batched before they are sent; 0: each call is sent at once.
  std::uint32_t batch_bytes = 0;
};

/// The ring of one sending thread to one destination thread, shared by all channels of the sender.
/// Each remote chunk has a mirror here: a record is serialized into the mirror, and the same bytes
/// go to the same offset of the chunk (Seriema 4.4). While no remote chunk is free, records may be
/// queued: they are serialized into further chunks of local memory, which take the place of mirrors
/// when room comes, so nothing is copied again. README.md says who owns which bytes. Until the
/// first chunks are granted, the ring counts as full.
///
///     calls --> ChunkWriter --> mirror ----- ChunkSender ----> remote chunk
///                    |             ^
///                    `-> CallQueue of chunks that become mirrors
///
/// ChunkCircle knows which chunk is next, and RoomWaiters which callers wait for it.
///
/// Owner thread only.
class OutgoingRing {
 public:
  /// Throws Error when the options make no sense, or there is no registered memory. Setup only.
  OutgoingRing(RingSet& ring_set, dsfabric::ThreadId to, const RingOptions& options,
               RingKind kind = RingKind::kCalls);
  OutgoingRing(const OutgoingRing&) = delete;
  OutgoingRing& operator=(const OutgoingRing&) = delete;
  ~OutgoingRing();

  // The usual call in the shortest way, batched or sent at once: what channels try first.

  /// One more call of the type of the last one, batched with it. False: nothing was done.
  template <class F>
  bool try_append(std::uint32_t function, const F& callable) noexcept {
    return writer_.try_append(function, callable);
  }
  /// A call of another type than the last one, batched with it. False: nothing was done.
  template <class F>
  bool try_batch(std::uint32_t function, const F& callable) noexcept {
    if (!writer_.takes(ring_stride(sizeof(F))) || !same_program_ ||
        function == dsfabric::detail::kLateFunction) {
      return false;
    }
    writer_.open_record({function, 0, static_cast<std::uint32_t>(sizeof(F))}, function);
    detail::put(writer_.at(), callable);
    return true;
  }
  /// One call, sent at once. False: nothing was done, because this is not the usual case.
  template <class F>
  bool try_post(std::uint32_t function, const F& callable) noexcept {
    return sender_.try_post(writer_, function, callable);
  }

  /// Requests the first chunks and waits for them; in a handler it only requests them. Throws Error
  /// when the peer has no memory for them.
  void setup(const SendPolicy& policy);
  /// Space for the bytes of one call; nullptr when the policy says so, or the peer is gone. Throws
  /// Error when the call can never fit, when the peer has no such function or no memory for a ring,
  /// and whatever handlers throw while it waits.
  std::byte* reserve(std::uint32_t function, std::uint32_t bytes, const SendPolicy& policy);
  /// Throws the Error of a call that can never fit; `wanted`: the chunk_bytes of the channel that
  /// calls, which the ring may not have, because another one made it.
  void require_fit(std::uint32_t bytes, std::uint32_t wanted) const {
    if (bytes > options_.chunk_bytes - kRingOverhead - kRingWord) [[unlikely]]
      throw_too_large(bytes, wanted);
  }
  /// The last reserved call is complete. False: the peer is gone.
  bool commit(dtutils::Synchronizer* sent, const SendPolicy& policy) noexcept;
  /// Requests the first chunks, and does not wait for them. Throws as SendSpace.
  void prepare();
  /// Whether a call that is serialized now is sent, or queued only because chunks are full, and the
  /// peer has the functions of this program under the same indices.
  bool ready() const noexcept { return !gone() && same_program_ && !circle_.empty(); }
  /// `count` calls of one function, of `bytes` bytes each, which lie one below the other as in a
  /// record and end at `end`: sent at once as far as there is room, else queued. Never waits; only
  /// of a ring that is ready, whose chunks are all that it may have. False: the peer is gone, or
  /// there is no registered memory.
  bool send_run(std::uint32_t function, std::uint32_t bytes, const std::byte* end,
                std::uint32_t count) noexcept;
  /// Sends what is batched, and what is queued as far as there is room. True when nothing is left.
  bool flush() noexcept;
  /// One step towards what the ring waits for; true when it must be looked at again.
  bool attend() noexcept;

  /// The peer has failed or left.
  bool gone() const noexcept { return state_ == State::kGone; }
  /// The peer's program is this one.
  bool same_program() const noexcept { return same_program_; }
  /// Records are here that were not posted.
  bool unsent() const noexcept { return !queue_.empty() || writer_.has_unsent(); }
  /// Bytes that calls of handlers hold because the ring is full, beyond what queue_limit allows: of
  /// chunks, and of the stacks of fibers that wait for room.
  std::uint64_t excess() const noexcept;
  /// The receiving worker.
  dsfabric::ThreadId to() const noexcept { return to_; }
  /// Calls serialized so far.
  std::uint64_t issued() const noexcept { return writer_.calls() + sender_.posted(); }
  /// What happened so far.
  OutgoingCounters counters() const noexcept;
  /// The queue pair that carries the ring.
  dtutils::Transmitter& transmitter() const noexcept { return sender_.transmitter(); }

 private:
  friend class riutils::RingSet;

  /// Where calls are serialized.
  enum class State : std::uint8_t {
    /// Nowhere yet: there was no chunk so far.
    kStarting,
    /// Into the mirror of the remote chunk in use.
    kSending,
    /// Into the last chunk of the queue, because no remote chunk is free.
    kQueueing,
    /// Nowhere any more: the peer is gone.
    kGone,
  };
  enum class QueueLimit : std::uint8_t { kOptions, kMemory };

  void throw_too_large(std::uint32_t bytes, std::uint32_t wanted) const;
  void ask_for_chunks();
  void take_grant();
  bool has_room() const noexcept { return gone() || (queue_.empty() && circle_.next_is_free()); }
  bool next_chunk(const SendPolicy& policy, std::uint32_t needed);
  bool wait_for_room(bool in_handler);
  /// Ends the chunk in use and goes on to the next one, which is free.
  bool enter_next_chunk() noexcept;
  /// Gives the next chunk this mirror, and sends what follows there.
  void use_next_chunk(dtutils::RDMAMemory mirror) noexcept;
  bool queue(QueueLimit limit) noexcept;
  void send_queued() noexcept;
  /// Sends the records that are batched, and `last_word` below them.
  bool post(std::uint64_t last_word, dtutils::Synchronizer* sent) noexcept;
  bool give_up() noexcept;
  void set_state(State state) noexcept;

  detail::ChunkWriter writer_;
  alignas(64) detail::ChunkSender sender_;
  bool same_program_;
  State state_ = State::kStarting;
  /// The RingSet looks at this ring.
  bool attended_ = false;
  RingSet& ring_set_;
  const dsfabric::ThreadId to_;
  const RingKind kind_;
  const RingOptions options_;
  const dsfabric::detail::FunctionTable& functions_;
  detail::ChunkCircle circle_;
  detail::CallQueue queue_;
  detail::RoomWaiters waiters_;
  /// While calls are queued: the lowest byte that was posted into the remote chunk in use, where
  /// the next chunk is announced.
  std::byte* tail_ = nullptr;
  /// The call that reserve() made space for.
  struct {
    RingHeader header{};
    std::uint32_t run_function = detail::ChunkWriter::kNoRun;
  } reserved_;
  /// RingSet::epoch when the oldest batched call was made.
  std::uint64_t batched_ = 0;
  /// Of chunks that were left.
  std::uint64_t bytes_ = 0;
  OutgoingCounters counters_;
};

}  // namespace riutils::detail
