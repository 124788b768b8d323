// SPDX-License-Identifier: MIT
// OutgoingRing: calls that are not the usual one, and how they are posted.
#include "riutils/detail/outgoing_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "dsfabric/detail/call_wrappers.hpp"
#include "dtutils/error.hpp"
#include "ring/ring_limits.hpp"
#include "riutils/ring_set.hpp"

namespace riutils::detail {
namespace {

const RingOptions& checked(const RingOptions& options) {
  const auto refuse = [](const std::string& what, const std::string& remedy) {
    throw dtutils::Error("ring options", what, remedy);
  };
  if (options.chunk_bytes < kMinChunk || options.chunk_bytes > kMaxChunk ||
      options.chunk_bytes % dtutils::kCacheLine != 0) {
    refuse(fmt::format("chunk_bytes is {}", options.chunk_bytes),
           fmt::format("use a multiple of {} from {} to {}", dtutils::kCacheLine, kMinChunk,
                       kMaxChunk));
  }
  if (options.chunks < 2 || options.chunks > options.chunk_limit ||
      options.chunks > Grant::kMaxChunks) {
    refuse(
        fmt::format("chunks is {} and chunk_limit {}", options.chunks, options.chunk_limit),
        fmt::format("begin with 2 to {} chunks, and no more than chunk_limit", Grant::kMaxChunks));
  }
  if (options.chunk_limit > kMaxChunkLimit) {
    refuse(fmt::format("chunk_limit is {}", options.chunk_limit),
           fmt::format("use at most {}, or larger chunks", kMaxChunkLimit));
  }
  return options;
}

bool is_same_program(dsfabric::Fabric& fabric, dsfabric::ThreadId to) {
  try {
    for (std::uint32_t i = 0; i < fabric.functions().size(); ++i) {
      if (dsfabric::detail::index_at(fabric, to, i) != i) return false;
    }
  } catch (const dtutils::Error&) {
    return false;
  }
  return true;
}

}  // namespace

OutgoingRing::OutgoingRing(RingSet& ring_set, dsfabric::ThreadId to, const RingOptions& options,
                           RingKind kind)
    : sender_(ring_set.fabric().transmitter(to.process), to.process),
      same_program_(is_same_program(ring_set.fabric(), to)),
      ring_set_(ring_set),
      to_(to),
      kind_(kind),
      options_(checked(options)),
      functions_(ring_set.fabric().functions()),
      circle_(ring_set.fabric(), to, kind, options_) {
  if (functions_.size() >= RingHeader::kMaxFunctions) {
    throw dtutils::Error("ring",
                         "the program has more remotely called functions than a header names",
                         fmt::format("use less than {}", RingHeader::kMaxFunctions));
  }
}

OutgoingRing::~OutgoingRing() = default;

void OutgoingRing::throw_too_large(std::uint32_t bytes, std::uint32_t wanted) const {
  if (ring_stride(bytes) + kRingOverhead <= options_.chunk_bytes && bytes <= RingHeader::kMaxBytes)
    return;
  const std::string what =
      fmt::format("its {} bytes do not fit into a chunk of {}", bytes, options_.chunk_bytes);
  if (wanted > options_.chunk_bytes) {
    throw dtutils::Error(
        fmt::format("call to thread {}", to_),
        fmt::format(
            "{}: this channel asks for chunks of {}, but the ring was made before, with the "
            "options of another one",
            what, wanted),
        "give all channels of a worker the same RingOptions, or make the one with the largest "
        "chunks the first that calls there (setup())");
  }
  throw dtutils::Error(fmt::format("call to thread {}", to_), what,
                       "raise chunk_bytes in RingOptions, or pass the data as a buffer by RDMA");
}

std::byte* OutgoingRing::reserve(std::uint32_t function, std::uint32_t bytes,
                                 const SendPolicy& policy) {
  const std::uint32_t there = same_program_ && function < functions_.size()
                                  ? function
                                  : dsfabric::detail::index_at(ring_set_.fabric(), to_, function);
  const std::uint32_t stride = ring_stride(bytes);
  const std::uint32_t needed = stride + kRingOverhead;
  if (needed > options_.chunk_bytes || bytes > RingHeader::kMaxBytes) {
    throw_too_large(bytes, options_.chunk_bytes);
  }
  if (sender_.is_backlogged()) ring_set_.fabric().make_room(sender_.transmitter());
  // First: it takes a word of the room.
  if (state_ == State::kSending && writer_.has_unsent() && policy.batch_bytes != 0 &&
      writer_.unsent() + stride + kRingWord > policy.batch_bytes && !post(0, nullptr)) {
    return nullptr;
  }
  while (gone() || writer_.room() < needed) {
    if (gone() || !next_chunk(policy, needed)) return nullptr;
  }
  const bool plain = bytes == functions_.entry(function).bytes;
  reserved_ = {{there, 0, bytes}, plain ? function : ChunkWriter::kNoRun};
  return writer_.at() - kRingWord - stride;
}

bool OutgoingRing::commit(dtutils::Synchronizer* sent, const SendPolicy& policy) noexcept {
  const bool first = !writer_.has_unsent();
  writer_.open_record(reserved_.header, reserved_.run_function);
  const std::size_t room = writer_.room() - 2 * kRingWord;
  if (state_ == State::kQueueing) {
    writer_.allow(room);
    if (sent != nullptr) queue_.tell(*sent);
    return true;
  }
  if (policy.batch_bytes == 0 || sent != nullptr) return post(0, sent);
  writer_.allow(std::min(
      room, policy.batch_bytes - std::min<std::size_t>(writer_.unsent(), policy.batch_bytes)));
  if (first) {
    batched_ = ring_set_.epoch();
    ring_set_.attend_to(*this);
  }
  return true;
}

bool OutgoingRing::send_run(std::uint32_t function, std::uint32_t bytes, const std::byte* end,
                            std::uint32_t count) noexcept {
  constexpr SendPolicy kNeverWait{WhenFull::kRetryAsync, false, 0};
  const std::uint32_t stride = ring_stride(bytes);
  while (count != 0) {
    if (writer_.room() < stride + kRingOverhead &&
        !next_chunk(kNeverWait, stride + kRingOverhead) && !queue(QueueLimit::kMemory)) {
      return false;
    }
    const std::size_t room = writer_.room() - kRingOverhead;
    const auto fits = std::min(count, static_cast<std::uint32_t>(room / stride));
    writer_.open_record({function, 0, bytes}, ChunkWriter::kNoRun);
    writer_.extend_record(fits - 1);
    end -= std::size_t{stride} * fits;
    std::memcpy(writer_.at(), end, std::size_t{stride} * fits);
    count -= fits;
  }
  if (state_ != State::kQueueing) return post(0, nullptr);
  writer_.allow(0);
  return true;
}

bool OutgoingRing::post(std::uint64_t last_word, dtutils::Synchronizer* sent) noexcept {
  writer_.close_record();
  std::byte* const low = writer_.at() - kRingWord;
  put_word(low, last_word);
  std::byte* const free = sender_.write(low, writer_.sent(), sent);
  if (free == nullptr) return give_up();
  writer_.go_on_at(free);
  return true;
}

bool OutgoingRing::flush() noexcept {
  send_queued();
  if (state_ == State::kSending && writer_.has_unsent()) (void)post(0, nullptr);
  return !unsent();
}

bool OutgoingRing::give_up() noexcept {
  set_state(State::kGone);
  writer_.stop();
  queue_.fail();
  waiters_.wake_all();
  return false;
}

void OutgoingRing::set_state(State state) noexcept {
  state_ = state;
  if (state == State::kSending && sender_.in_order() && same_program_) {
    sender_.allow_posts(writer_.begin());
  } else {
    sender_.forbid_posts();
  }
}

OutgoingCounters OutgoingRing::counters() const noexcept {
  OutgoingCounters all = counters_;
  all.to = to_;
  all.results = kind_ == RingKind::kResults;
  all.calls = issued();
  all.bytes = bytes_ + (gone() ? 0 : writer_.filled(options_.chunk_bytes));
  all.writes = sender_.writes();
  all.chunks = circle_.size();
  return all;
}

}  // namespace riutils::detail
