// SPDX-License-Identifier: MIT
// The sending end of one ring: calls are serialized here, once, and written to the receiver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "dsfabric/callable.hpp"
#include "dsfabric/return_slot.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/transmitter.hpp"
#include "riutils/counters.hpp"
#include "riutils/detail/inline_record.hpp"
#include "riutils/detail/ring_header.hpp"
#include "riutils/options.hpp"

namespace riutils {

class RingSet;

/// What a channel wants done with its calls.
struct SendPolicy {
  /// What a call does while the ring is full.
  WhenFull when_full = WhenFull::kRetry;
  /// While the ring is full, calls are queued first; `when_full` counts at queue_limit.
  bool queue = false;
  /// Bytes that are batched before they are sent; 0: each call is sent at once.
  std::uint32_t batch_bytes = 0;
};

/// What a sender is given by the process of the receiver: chunks, in their order.
struct Grant {
  /// Chunks in one grant at most.
  static constexpr std::uint32_t kMaxChunks = 16;
  /// Chunks in this grant.
  std::uint32_t count = 0;
  /// Where they are.
  dtutils::RemoteMemoryLocator chunks[kMaxChunks];
};

/// The ring of one sending thread to one destination thread, shared by all channels of the sender.
/// Each remote chunk has a mirror here: a record is serialized into the mirror, and the same bytes
/// go to the same offset of the chunk (Seriema 4.4). While no remote chunk is free, records may be
/// queued: they are serialized into further chunks of local memory, which take the place of mirrors
/// when room comes, so nothing is copied again. README.md says who owns which bytes.
///
/// A service call requests chunks, and its answer arrives by RDMA: neither end waits for the
/// other's worker. Until the first ones are there, the ring counts as full.
///
/// Owner thread only.
class alignas(64) OutgoingRing {
 public:
  /// Throws Error when the options make no sense, or there is no registered memory. Setup only.
  OutgoingRing(RingSet& ring_set, dsfabric::ThreadId to, const RingOptions& options,
               RingKind kind = RingKind::kCalls);
  OutgoingRing(const OutgoingRing&) = delete;
  OutgoingRing& operator=(const OutgoingRing&) = delete;
  ~OutgoingRing();

  // These three are defined in try_call.hpp.

  /// One more call of the type of the last one, batched with it: a compare and a store. False:
  /// nothing was done.
  template <class F>
  bool try_append(std::uint32_t function, const F& callable) noexcept;

  /// A call of another type than the last one, batched with it. False: nothing was done.
  template <class F>
  bool try_batch(std::uint32_t function, const F& callable) noexcept;

  /// One call, sent at once. False: nothing was done, because this is not the usual case.
  template <class F>
  bool try_post(std::uint32_t function, const F& callable) noexcept;

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
  bool ready() const noexcept { return !gone_ && same_program_ && !circle_.empty(); }
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
  bool gone() const noexcept { return gone_; }
  /// The peer's program is this one.
  bool same_program() const noexcept { return same_program_; }
  /// Records are here that were not posted.
  bool unsent() const noexcept { return at_ != sent_; }
  /// Bytes that calls of handlers hold because the ring is full, beyond what queue_limit allows: of
  /// chunks, and of the stacks of fibers that wait for room.
  std::uint64_t excess() const noexcept;
  /// Calls serialized so far.
  std::uint64_t issued() const noexcept;
  /// What happened so far.
  OutgoingCounters counters() const noexcept;
  /// The queue pair that carries the ring.
  dtutils::Transmitter& transmitter() noexcept { return *transmitter_; }

 private:
  friend class RingSet;
  static constexpr std::uint32_t kNoRun = 0xffff'ffff;
  static constexpr std::uint64_t kUnused = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uintptr_t kNever = std::uintptr_t{1} << 63;
  /// Unretired requests above which a call makes progress first, instead of waiting inside a post.
  /// Posts poll from kSignalAllFrom on, so more than that means that the device is slow.
  static constexpr std::uint64_t kUnretired = dtutils::kSignalAllFrom + 8;
  /// A waiting fiber has touched about so many bytes of its stack.
  static constexpr std::uint64_t kFiberBytes = 4096;

  /// A remote chunk and its mirror, which may be missing while the chunk is not in use.
  struct Slot {
    dtutils::RemoteMemoryLocator chunk;
    dtutils::RDMAMemory mirror;
    /// Which chunk of the stream it carries.
    std::uint64_t sequence = kUnused;
  };
  /// A chunk of the stream that has no remote chunk yet.
  struct QueuedChunk {
    dtutils::RDMAMemory memory;
    /// Its lowest serialized byte, once the next one is being filled.
    std::byte* low = nullptr;
    std::vector<dtutils::Synchronizer*> sent = {};
  };
  /// A call that waits for room.
  struct Waiter;

  template <class F>
  static void put(std::byte* at, const F& callable) noexcept {
    if constexpr (!std::is_empty_v<F>) {
      std::memcpy(at, static_cast<const void*>(&callable), sizeof callable);
    }
  }
  /// try_post for the first of several calls to one function.
  template <class F>
  [[gnu::noinline]] bool arrange_and_post(std::uint32_t function, const F& callable) noexcept;
  /// try_post for a call that is too large to be sent inline.
  template <class F>
  [[gnu::noinline]] bool post_from_mirror(std::uint32_t function, const F& callable) noexcept;
  static void put_word(std::byte* at, std::uint64_t word) noexcept {
    std::memcpy(at, &word, sizeof word);
  }
  /// After a post down to `low`, where the zero word is. The next header goes to that place in the
  /// remote chunk, and here.
  void leave_behind(std::byte* low) noexcept { at_ = sent_ = floor_ = low + kRingWord; }
  /// The same while the device may still have to read the zero: here the next header goes below it.
  void leave_behind_unread(std::byte* low) noexcept {
    to_remote_ += kRingWord;
    at_ = sent_ = floor_ = low;
  }
  /// Begins a record; its first call lies at at_ then.
  void open_record(const RingHeader& header, std::uint32_t run_function) noexcept {
    run_stride_ = ring_stride(header.bytes);
    run_header_ = at_ - kRingWord;
    run_word_ = header.encode();
    run_function_ = run_function;
    at_ = run_header_ - run_stride_;
  }
  /// Writes the header of the open record.
  void close_record() noexcept {
    if (run_header_ == nullptr) return;
    const auto bytes = static_cast<std::uint32_t>(run_header_ - at_);
    const std::uint64_t count = bytes == run_stride_ ? 1 : bytes / run_stride_;
    put_word(run_header_, run_word_ + RingHeader::counting(count));
    calls_ += count;
    run_header_ = nullptr;
    run_function_ = kNoRun;
  }
  /// A post might have to wait for the device.
  bool is_backlogged() const noexcept {
    const dtutils::SelectiveSignaling& signaling = transmitter_->signaling();
    return signaling.issued() - signaling.retired() > kUnretired;
  }

  void throw_too_large(std::uint32_t bytes, std::uint32_t wanted) const;
  void ask_for_chunks();
  void take_grant();
  /// Throws Error when there are none and none will come.
  void require_chunks() const;
  bool next_is_free() const noexcept;
  bool has_room() const noexcept { return gone_ || (queue_.empty() && next_is_free()); }
  bool next_chunk(const SendPolicy& policy, std::uint32_t needed);
  bool wait_for_room(bool in_handler);
  /// Goes on to the next remote chunk with this mirror, or with whatever memory there is.
  void enter(dtutils::RDMAMemory mirror) noexcept;
  bool enter() noexcept;
  dtutils::RDMAMemory local_chunk() noexcept;
  enum class QueueLimit : std::uint8_t { kOptions, kMemory };
  bool queue(QueueLimit limit) noexcept;
  void send_queued() noexcept;
  void start_filling(const dtutils::RDMAMemory& memory) noexcept;
  void stop_filling() noexcept;
  bool post(std::uint64_t last_word, dtutils::Synchronizer* sent) noexcept;
  /// `inlined`: the device needs the lowest word no more.
  bool write(std::byte* low, std::byte* high, dtutils::Synchronizer* sent, bool& inlined) noexcept;
  void wake() noexcept;
  bool give_up() noexcept;
  void refresh() noexcept;

  // What a batched call touches.
  /// The lowest byte that is serialized; the next header's place is below.
  std::byte* at_ = nullptr;
  /// Calls may be batched down to here; where none may, at_ or above.
  std::byte* floor_ = nullptr;
  /// The function, as this program numbers it, of which more calls may join the open record.
  std::uint32_t run_function_ = kNoRun;
  std::uint32_t run_stride_ = 0;
  /// Place of the open record's header, which is written when the record is closed; else nullptr.
  std::byte* run_header_ = nullptr;
  /// That header, with a count of 0.
  std::uint64_t run_word_ = 0;
  /// Everything from here on upwards was posted. While calls are queued: nullptr.
  std::byte* sent_ = nullptr;
  /// Of the chunk that is being filled.
  std::byte* begin_ = nullptr;
  std::uint64_t calls_ = 0;

  // What a call that is sent at once touches besides.
  alignas(64) std::uintptr_t post_floor_ = kNever;
  dtutils::Transmitter* transmitter_;
  /// Remote minus local address, in the remote chunk in use.
  std::uint64_t to_remote_ = 0;
  std::uint32_t lkey_ = 0;
  std::uint32_t rkey_ = 0;
  std::uint32_t inline_limit_;
  bool in_order_;
  bool same_program_;
  bool gone_ = false;
  bool attended_ = false;
  /// Calls that were sent at once, each by one write, and counted in no other way.
  std::uint64_t posted_ = 0;
  InlineRecord record_;

  /// The lowest byte that was posted into the remote chunk in use: where the next chunk is
  /// announced.
  std::byte* tail_ = nullptr;
  std::uint64_t bytes_ = 0;
  RingSet& ring_set_;
  const dsfabric::ThreadId to_;
  const RingKind kind_;
  RingOptions options_;
  const dsfabric::FunctionTable& functions_;
  std::vector<Slot> circle_;
  std::size_t slot_ = 0;
  std::uint64_t sequence_ = 0;
  /// New chunks behind the one in use, of which the receiver was not told.
  std::uint32_t grown_ = 0;
  std::deque<QueuedChunk> queue_;
  /// Mirrors that no remote chunk needs.
  std::vector<dtutils::RDMAMemory> spare_;
  std::uint64_t writes_ = 0;
  /// Where the receiver writes how many chunks it has consumed.
  dtutils::RDMAMemory consumed_;
  dsfabric::ReturnSlot<Grant> grant_;
  bool asked_ = false;
  bool refused_ = false;
  Waiter* waiters_ = nullptr;
  std::uint32_t waiting_fibers_ = 0;
  struct {
    RingHeader header{};
    std::uint32_t run_function = kNoRun;
  } reserved_;
  /// RingSet::epoch when the oldest batched call was made.
  std::uint64_t batched_ = 0;
  OutgoingCounters counters_;
};

}  // namespace riutils
