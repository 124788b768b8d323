// SPDX-License-Identifier: MIT
// The receiving end of one ring: validates records and runs them where they lie.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dsfabric/call_context.hpp"
#include "dsfabric/detail/function_table.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/transmitter.hpp"
#include "riutils/counters.hpp"
#include "riutils/detail/ring_header.hpp"
#include "riutils/fiber_pool.hpp"

namespace riutils {

/// A circle of chunks in local memory. Who owns which bytes: README.md, "Who owns which bytes".
///
/// One thread at a time, all methods.
class IncomingRing {
 public:
  /// The functions that a record may name, by their index.
  using Functions = std::span<const dsfabric::detail::FunctionTable::Entry>;

  IncomingRing(dsfabric::ThreadId sender, detail::RingKind kind,
               const dtutils::RemoteMemoryLocator& consumed_word, Functions functions)
      : functions_(functions), kind_(kind), consumed_word_(consumed_word) {
    counters_.from = sender;
    counters_.results = kind == detail::RingKind::kResults;
  }
  IncomingRing(const IncomingRing&) = delete;
  IncomingRing& operator=(const IncomingRing&) = delete;

  dsfabric::ThreadId sender() const noexcept { return counters_.from; }
  detail::RingKind kind() const noexcept { return kind_; }
  /// The first chunks begin the circle; later ones wait until a control word says where they go.
  void add(std::vector<dtutils::RDMAMemory> chunks);
  bool has_chunks() const noexcept { return at_ != nullptr; }
  /// The word that announces the next record: 0 while there is none.
  const std::uint64_t* header_word() const noexcept {
    return reinterpret_cast<const std::uint64_t*>(at_ - detail::kRingWord);
  }

  enum class End : std::uint8_t {
    /// Nothing more is here.
    kEmpty,
    /// Enough for this time.
    kMore,
    /// A chunk is used up: call leave_chunk, which is not done here because it posts.
    kChunk,
    /// A record is invalid: reason() says why. Nothing of it was run.
    kCorrupt,
    /// All stacks are taken, or there are none yet: the next call is left here until one is free.
    kNoStack,
  };
  /// Runs records until there are none, or about `budget` bytes were run. Throws what handlers
  /// throw when there is no upcall; then the next run goes on behind it.
  End run(std::uint32_t budget, dsfabric::CallContext& call);
  /// The same in fibers, but for callables that choose where they run, and for calls that are too
  /// large for a stack.
  End run(std::uint32_t budget, dsfabric::CallContext& call, FiberPool& fibers);

  /// The same inline, up to a call that needs a FiberPool, which is left here.
  End run_inline(std::uint32_t budget, dsfabric::CallContext& call);

  /// Takes the chunk back into the circle and goes on to the next; false when the control word
  /// lied. Then the sender must be told, by tell_consumed.
  bool leave_chunk();
  /// Writes the number of consumed chunks to the sender; false when it is gone.
  bool tell_consumed(dtutils::Transmitter& transmitter) noexcept;
  const dtutils::RemoteMemoryLocator& consumed_word() const noexcept { return consumed_word_; }

  // Both as for chunks of one size, which those of a ring have.
  /// Bytes of the stream behind the ring's place, with the chunks that were left.
  std::uint64_t consumed() const noexcept {
    const std::size_t chunk = circle_[chunk_].size();
    return counters_.chunks_consumed * chunk + static_cast<std::uint64_t>(begin_ + chunk - at_);
  }
  /// Bytes of all chunks of the circle.
  std::uint64_t room() const noexcept { return circle_.size() * circle_[chunk_].size(); }

  const char* reason() const noexcept { return reason_; }
  const IncomingCounters& counters() const noexcept { return counters_; }

 private:
  using Clock = dtutils::Clock;
  static constexpr std::chrono::seconds kArrivalLimit{1};
  /// Bytes below a record whose lines are fetched ahead.
  static constexpr std::ptrdiff_t kAhead = 512;
  /// So many bytes run by one poll are a backlog. Else the lines ahead may be the sender's next.
  static constexpr std::ptrdiff_t kBacklog = 256;

  /// Why the word below `at` announces nothing that can be right; else nullptr.
  const char* validate_header(std::uint64_t word, const std::byte* at) const noexcept;
  /// The word that was looked at may be a header in parts: no device promises more, and one that is
  /// emulated copies byte by byte. The bit that says "present" is in its last byte. False when it
  /// has stayed so for kArrivalLimit.
  bool is_arriving() noexcept;
  template <class RunRecord>
  End run_records(std::uint32_t budget, RunRecord&& run_record);
  void run_one(const detail::RingHeader& header, std::byte* at, dsfabric::CallContext& call);
  void run_many(const detail::RingHeader& header, std::byte* end, dsfabric::CallContext& call);
  bool run_in_fibers(const detail::RingHeader& header, std::byte* end, dsfabric::CallContext& call,
                     FiberPool& fibers);
  /// Makes the last `count` calls of a record, those below `end`, a record of their own: so this
  /// ring needs to remember nothing of them.
  void put_back(const detail::RingHeader& header, std::uint32_t count, std::byte* end) noexcept;
  /// Changes each cache line of the calls from `at` to `end`, which have run. Not for the protocol:
  /// where another core writes the ring, a line that was changed here goes back to it at less cost
  /// than one that was only read, for which it waits as for nothing else. The lines of headers
  /// change anyway.
  static void change_lines(std::byte* at, std::byte* end) noexcept;
  /// Fetches the lines from `at` to `end`, which are about to be read and changed, all at once:
  /// those of a run of large calls, or, in a backlog, of what lies kAhead below a record: where the
  /// next one begins is known only when this one's header has come, so that a core does not find
  /// out by itself.
  static void fetch(const std::byte* at, const std::byte* end) noexcept;
  void start_chunk(std::size_t chunk) noexcept;

  Functions functions_;
  const detail::RingKind kind_;
  /// The lowest byte that was run; the header word is below it.
  std::byte* at_ = nullptr;
  std::byte* begin_ = nullptr;
  std::size_t chunk_ = 0;
  std::vector<dtutils::RDMAMemory> circle_;
  std::vector<dtutils::RDMAMemory> waiting_;
  dtutils::RemoteMemoryLocator consumed_word_;
  /// The chunk that was left last.
  std::size_t left_ = 0;
  const char* reason_ = "";
  /// Where a header in parts was seen first, after how many records, and when.
  const std::byte* arriving_ = nullptr;
  std::uint64_t arriving_after_ = 0;
  Clock::time_point arriving_since_{};
  IncomingCounters counters_;
};

}  // namespace riutils
