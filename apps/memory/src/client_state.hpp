// SPDX-License-Identifier: MIT
// The inside of a Client: its operations, its cache, its ways to the homes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache.hpp"
#include "dsfabric/send_channel.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/marked_read.hpp"
#include "dtutils/wait.hpp"
#include "layout.hpp"
#include "operation.hpp"
#include "requests.hpp"
#include "space_state.hpp"

namespace memory::detail {

/// A part of a segment.
struct Range {
  std::uint64_t first;
  std::uint64_t bytes;
};

/// Owner thread only. Fibers of the thread may be inside of several operations, and handlers run
/// while one waits: what an operation found before it waited may have changed afterwards.
struct ClientState {
  ClientState(std::shared_ptr<SpaceState> its_space, const ClientOptions& its_options);
  ~ClientState();

  // --- operations and their memory --------------------------------------------------------------
  /// An operation whose scratch has so many bytes at least. Throws Error when there is no memory.
  Operation& take(std::uint64_t scratch_bytes) {
    if (!in_use.empty() || free.empty() || free.back()->scratch.size() < scratch_bytes)
        [[unlikely]] {
      prepare_one(scratch_bytes);
    }
    Operation& operation = *free.back();
    free.pop_back();
    // Without the failures of the operation before.
    new (&operation.arrived) dtutils::Synchronizer(0);
    return operation;
  }
  void give_back(Operation& operation) noexcept {
    if (operation.slot && !operation.slot->done()) [[unlikely]]
      operation.slot.reset();
    (operation.arrived.done() ? free : in_use).push_back(&operation);
  }
  /// Makes the last one of `free` such an operation.
  void prepare_one(std::uint64_t scratch_bytes);
  /// Holds one from take() to the end of its scope; one that the device still uses is given back
  /// later.
  class Used {
   public:
    Used(ClientState& state, std::uint64_t scratch_bytes)
        : state_(state), operation_(state.take(scratch_bytes)) {}
    Used(const Used&) = delete;
    Used& operator=(const Used&) = delete;
    ~Used() { state_.give_back(operation_); }
    Operation& operator*() const noexcept { return operation_; }
    Operation* operator->() const noexcept { return &operation_; }

   private:
    ClientState& state_;
    Operation& operation_;
  };

  // --- ways to the homes
  // --------------------------------------------------------------------------
  dtutils::Transmitter& transmitter(const Place& place) const {
    return space.fabric.transmitter(place.home());
  }
  /// Bytes of a segment, counted from its header.
  dtutils::RemoteMemoryLocator at(const Place& place, std::uint64_t from_header,
                                  std::uint64_t bytes) const noexcept {
    const ZoneMemory& there = space.zone(place);
    return {there.address + place.offset() + from_header, bytes,
            static_cast<std::uint32_t>(there.rkey), place.home().value, 0};
  }
  /// kDone when the pointer can be one of this Space, and the range is inside of its segment.
  Status check(const Place& place, std::uint64_t bytes) const noexcept {
    // The zones of the homes follow one another: a process beyond the last one has none.
    const std::uint64_t at_zone =
        place.home().value * std::uint64_t{space.zones_each} + place.zone();
    // Generations of segments are odd.
    if (place.zone() >= space.zones_each || at_zone >= space.zones.size() ||
        place.generation() % 2 == 0 || place.length == 0 ||
        place.tag >> 24 > static_cast<std::uint32_t>(Kind::kPlain)) {
      return Status::kForeign;
    }
    // A process with fewer zones has empty ones behind them.
    const std::uint64_t slot = slot_bytes(place.kind(), space.lines, place.length);
    if (place.offset() % kLine != 0 || place.offset() + slot > space.zones[at_zone].bytes) {
      return Status::kForeign;
    }
    return place.first <= place.length && bytes <= place.length - place.first ? Status::kDone
                                                                              : Status::kOutOfRange;
  }
  /// Waits for what was posted with `operation.arrived`; false when the home is gone.
  bool await(Operation& operation) {
    auto outcome = operation.arrived.outcome();
    if (!outcome) {
      // A device that executes requests as they are posted has the completion now.
      operation.transmitter->progress();
      outcome = operation.arrived.outcome();
      if (!outcome) [[unlikely]]
        return await_long(operation);
    }
    return *outcome == dtutils::Synchronizer::Outcome::kDone;
  }
  /// What await() needs after a marked READ (dtutils/marked_read.hpp); false: the home is gone.
  static bool expect(Operation& operation, dtutils::Arrival arrival) noexcept {
    if (arrival == dtutils::Arrival::kHere) [[likely]]
      return true;
    if (arrival == dtutils::Arrival::kBroken) return false;
    operation.arm();
    return dtutils::await_marked(*operation.transmitter, operation.arrived);
  }
  /// Both.
  bool await_marked(Operation& operation, dtutils::Arrival arrival) {
    if (arrival == dtutils::Arrival::kHere) [[likely]]
      return true;
    return expect(operation, arrival) && await(operation);
  }
  /// The same, when it is not there yet.
  bool await_long(Operation& operation);
  /// Between two tries. Serves.
  void pause(dtutils::Backoff& backoff);
  /// Whether a call may wait here; throws Error where it must not.
  bool may_call() const noexcept;
  void require_may_call() const;
  /// After a try in vain that found this version or lock word: pauses, and asks the home at times.
  /// kAgain: try again. Throws Error after seconds without anything new where it cannot ask.
  Status again(Tries& tries, const Place& place, std::uint64_t found);
  /// The same for a read that was started, without waiting for the answer.
  void examine(Operation& operation);
  /// Calls the home until it has an answer.
  template <class Request>
  Answer ask(dsfabric::ProcessId home, Request request);
  /// The home is this process. One that has failed without a way to itself repairs nothing, and
  /// answers nothing.
  template <class Request>
  Answer ask_here(const Request& request);
  /// Subtracts from a lock word, and does not wait.
  void unlock(const Place& place, std::uint64_t held) noexcept;

  // --- reads
  // ----------------------------------------------------------------------------------------
  std::uint64_t scratch_for(const Place& place, Range range) const noexcept;
  /// Posts the READs of a range of a versioned segment; false: the home is gone. With `into`, the
  /// data go there, which needs a layout in order.
  bool post_read(Operation& operation, const Place& place, Range range,
                 const dtutils::LocalBuffer* into = nullptr);
  /// The READ of a whole segment whose layout is in order.
  dtutils::Arrival post_whole(Operation& operation, const Place& place) noexcept;
  /// What has arrived: kDone and its version, kAgain, kDamaged, or what Head::judge says.
  Status decode(const Operation& operation, const Place& place, Range range,
                std::uint64_t& version) const noexcept;
  /// Copies a part of the range that has arrived.
  void copy_part(const Operation& operation, const Place& place, Range range, Range part,
                 void* into) const noexcept;
  Status fetch(const Place& place, Range range, void* into, std::uint64_t& version);
  Status read_direct(const Place& place, dtutils::LocalBuffer into);
  Status read_cached(const Place& place, void* into, std::uint64_t bytes);
  Status read_subscribed(const Place& place, void* into, std::uint64_t bytes);
  Status fetch_locked(const Place& place, void* into, std::uint64_t bytes);
  /// Fetches the whole segment, copies a part of it, and calls `keep(operation, version)` with what
  /// has arrived.
  template <class Keep>
  Status fetch_whole(const Place& place, void* into, std::uint64_t bytes, Keep&& keep);
  Status subscribe(const Place& place, void* into, std::uint64_t bytes);
  /// Asks the home to write versions to a free word, of which there is one at least.
  Status subscribe_to(const Place& place, const std::uint64_t*& word);
  /// The opposite; does not wait, and the word is free when the home writes there no more.
  void unsubscribe(const Place& place, const std::uint64_t* word);
  /// Takes over the whole segment that has arrived in `operation`. When there is no memory for it,
  /// it is not cached.
  void cache_whole(const Operation& operation, const Place& place, std::uint64_t version);
  /// The entry of that segment; one of a segment that was there before it is dropped.
  Cache::Entry* cached_now(const Place& place);
  void make_room(std::uint64_t length);
  void evict(Cache::Entry& entry);
  void forget(const Place& place);
  /// Drops what was cached of processes that have failed since the last look.
  void notice_failures();
  Cache::Entry* cached(const Place& place) noexcept {
    if (space.failures.load(std::memory_order_acquire) != hits.failures_seen) [[unlikely]]
      notice_failures();
    Cache::Entry* const entry = cache.find(place.place);
    return entry != nullptr && entry->is_of(place) ? entry : nullptr;
  }

  // --- plain segments
  // ---------------------------------------------------------------------------------
  Status read_plain(const Place& place, void* into, std::uint64_t bytes);
  Status read_plain_direct(const Place& place, dtutils::LocalBuffer into);
  Status write_plain(const Place& place, const void* from, std::uint64_t bytes);
  Status atomic_plain(const Place& place, bool compare, std::uint64_t compare_or_add,
                      std::uint64_t swap, std::uint64_t& before);
  bool post_plain_read(Operation& operation, const Place& place, std::uint64_t bytes);
  bool post_plain_write(Operation& operation, const Place& place, std::uint64_t bytes);
  bool post_plain_atomic(Operation& operation, const Place& place, bool compare,
                         std::uint64_t compare_or_add, std::uint64_t swap);
  /// Posts the READ of the head behind what was posted before, to byte 0 of the scratch.
  bool post_head(Operation& operation, const Place& place) noexcept;
  static Status judge_plain(const Operation& operation, const Place& place) noexcept;
  static constexpr std::uint64_t kPlainData = 64;

  // --- writes
  // -----------------------------------------------------------------------------------------
  Status write_by_call(const Place& place, const void* from, std::uint64_t bytes);
  Status write_causal(const Place& place, const void* from, std::uint64_t bytes);
  /// kAgain: not possible now, write by call.
  Status write_one_sided(const Place& place, const void* from, std::uint64_t bytes);
  /// Writes the clock of this process for that home into `to`, and counts one more request.
  void take_clock(dsfabric::ProcessId home, std::byte* to);
  std::uint64_t clock_bytes() const noexcept { return space.homes.size() * kWord; }

  // --- what was started
  // ---------------------------------------------------------------------------------
  void start(Operation& operation);
  /// Moves an operation on; true when it has ended.
  bool step(Operation& operation);
  bool progress();
  void serve();
  void end(Operation& operation, Status status) noexcept {
    operation.step = Operation::Step::kEnded;
    operation.status = status;
  }
  /// Posts the READs of a started read (again); false: it has ended, the home is gone.
  bool read_again(Operation& operation);
  /// Begins a read.
  void begin_read(Operation& operation, ReadMode mode);
  template <class Request>
  void try_call(Operation& operation, const Request& request);

  /// A one-sided write.
  class OneSided;

  std::shared_ptr<SpaceState> space_owner;
  SpaceState& space;
  ClientOptions options;
  dsfabric::ProcessId self;
  /// The worker that it belongs to; nullptr: another thread.
  dsfabric::Thread* worker;
  std::uint32_t zone = 0;
  dsfabric::SendChannel channel;
  Hits hits;
  ClientCounters& counters = hits.counters;
  Cache cache;
  std::uint32_t next_home;
  dtutils::Backoff idle;

  /// Its number in this process, and its bit in lock words; 0: reads without locks.
  std::size_t number = 0;
  std::uint64_t reader_bit = 0;
  /// One of its fibers holds a lock for reading: the others read without.
  bool reading_locked = false;

  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<Operation*> free;
  /// Given back while the device was using them.
  std::vector<Operation*> in_use;
  std::vector<Operation*> started;
  bool progressing = false;

  /// Words where versions of subscribed segments arrive.
  dtutils::RDMAMemory words;
  std::vector<const std::uint64_t*> free_words;
  /// Where results go that nobody needs.
  dtutils::RDMAMemory sink;
};

template <class Keep>
Status ClientState::fetch_whole(const Place& place, void* into, std::uint64_t bytes, Keep&& keep) {
  ++counters.misses;
  const Range whole{0, place.length};
  Used operation(*this, scratch_for(place, whole));
  operation->direct = false;
  Tries tries;
  for (;;) {
    if (!post_read(*operation, place, whole) || !await(*operation)) return Status::kHomeFailed;
    std::uint64_t version = 0;
    Status status = decode(*operation, place, whole, version);
    if (status == Status::kDone) {
      keep(*operation, version);
      copy_part(*operation, place, whole, {place.first, bytes}, into);
    }
    if (status == Status::kAgain) status = again(tries, place, version);
    if (status != Status::kAgain) return status;
  }
}

}  // namespace memory::detail
