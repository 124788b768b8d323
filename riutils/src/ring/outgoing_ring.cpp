// SPDX-License-Identifier: MIT
// OutgoingRing: calls that are not the usual one, and how they are posted.
#include "riutils/detail/outgoing_ring.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dsfabric/detail/call_wrappers.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "ring/limits.hpp"
#include "riutils/ring_set.hpp"

namespace riutils {
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
    : transmitter_(&ring_set.fabric().transmitter(to.process)),
      inline_limit_(transmitter_->queue_pair().max_inline()),
      in_order_(transmitter_->queue_pair().device().data_in_order(transmitter_->queue_pair().raw(),
                                                                  IBV_WR_RDMA_WRITE)),
      same_program_(is_same_program(ring_set.fabric(), to)),
      record_(inline_limit_),
      ring_set_(ring_set),
      to_(to),
      kind_(kind),
      options_(checked(options)),
      functions_(ring_set.fabric().functions()),
      consumed_(ring_set.fabric().general_allocator().allocate(dtutils::kCacheLine)),
      grant_(ring_set.fabric()) {
  if (functions_.size() >= RingHeader::kMaxFunctions) {
    throw dtutils::Error("ring",
                         "the program has more remotely called functions than a header names",
                         fmt::format("use less than {}", RingHeader::kMaxFunctions));
  }
  dtutils::store_device_word(reinterpret_cast<std::uint64_t*>(consumed_.data()), std::uint64_t{0});
  circle_.reserve(options_.chunk_limit);
  spare_.reserve(options_.chunk_limit + options_.queue_limit / options_.chunk_bytes + 1);
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
  if (is_backlogged()) ring_set_.fabric().make_room(*transmitter_);
  // First: it takes a word of the room.
  if (sent_ != nullptr && at_ != sent_ && policy.batch_bytes != 0 &&
      static_cast<std::size_t>(sent_ - at_) + stride + kRingWord > policy.batch_bytes &&
      !post(0, nullptr)) {
    return nullptr;
  }
  while (gone_ || static_cast<std::size_t>(at_ - begin_) < needed) {
    if (gone_ || !next_chunk(policy, needed)) return nullptr;
  }
  close_record();
  const bool plain = bytes == functions_.entry(function).bytes;
  reserved_ = {{there, 0, bytes}, plain ? function : kNoRun};
  return at_ - kRingWord - stride;
}

bool OutgoingRing::commit(dtutils::Synchronizer* sent, const SendPolicy& policy) noexcept {
  const bool first = at_ == sent_;
  open_record(reserved_.header, reserved_.run_function);
  const auto room = static_cast<std::size_t>(at_ - begin_ - 2 * kRingWord);
  if (!queue_.empty()) {
    floor_ = at_ - room;
    if (sent != nullptr) queue_.back().sent.push_back(sent);
    return true;
  }
  if (policy.batch_bytes == 0 || sent != nullptr) return post(0, sent);
  const auto batched = static_cast<std::size_t>(sent_ - at_);
  floor_ =
      at_ - std::min(room, policy.batch_bytes - std::min<std::size_t>(batched, policy.batch_bytes));
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
    if (static_cast<std::size_t>(at_ - begin_) < stride + kRingOverhead &&
        !next_chunk(kNeverWait, stride + kRingOverhead) && !queue(QueueLimit::kMemory)) {
      return false;
    }
    const auto room = static_cast<std::size_t>(at_ - begin_) - kRingOverhead;
    const auto fits = std::min(count, static_cast<std::uint32_t>(room / stride));
    close_record();
    open_record({function, 0, bytes}, kNoRun);
    at_ -= std::size_t{stride} * (fits - 1);
    end -= std::size_t{stride} * fits;
    std::memcpy(at_, end, std::size_t{stride} * fits);
    count -= fits;
  }
  if (queue_.empty()) return post(0, nullptr);
  floor_ = at_;
  return true;
}

bool OutgoingRing::post(std::uint64_t last_word, dtutils::Synchronizer* sent) noexcept {
  close_record();
  put_word(at_ - kRingWord, last_word);
  bool inlined;
  if (!write(at_ - kRingWord, sent_, sent, inlined)) return false;
  inlined ? leave_behind(at_ - kRingWord) : leave_behind_unread(at_ - kRingWord);
  return true;
}

bool OutgoingRing::write(std::byte* low, std::byte* high, dtutils::Synchronizer* sent,
                         bool& inlined) noexcept {
  const auto write_part = [&](std::byte* from, std::byte* to, dtutils::Synchronizer* tell) {
    const auto bytes = static_cast<std::uint32_t>(to - from);
    const bool copied = bytes <= inline_limit_;
    dtutils::PostOptions options(copied ? dtutils::kInlined : dtutils::kUnsignaled);
    options.sent = tell;
    if (from == low) inlined = copied;
    ++writes_;
    return transmitter_->write(
        {from, bytes, lkey_},
        {reinterpret_cast<std::uint64_t>(from) + to_remote_, bytes, rkey_, to_.process.value, 0},
        options);
  };
  // The header that the receiver waits for is the highest word; it must land last.
  std::byte* const header = high - kRingWord;
  const bool split = !in_order_ && low != header;
  const bool written =
      (!split || write_part(low, header, nullptr)) && write_part(split ? header : low, high, sent);
  return written || give_up();
}

bool OutgoingRing::flush() noexcept {
  send_queued();
  if (!gone_ && queue_.empty() && at_ != sent_) (void)post(0, nullptr);
  return gone_ || !unsent();
}

bool OutgoingRing::give_up() noexcept {
  gone_ = true;
  close_record();
  at_ = sent_ = floor_ = begin_;
  for (QueuedChunk& queued : queue_) {
    for (dtutils::Synchronizer* const each : queued.sent) each->fail();
  }
  queue_.clear();
  refresh();
  wake();
  return false;
}

void OutgoingRing::refresh() noexcept {
  const bool usual = !gone_ && queue_.empty() && tail_ != nullptr && in_order_ && same_program_;
  post_floor_ = usual ? reinterpret_cast<std::uintptr_t>(begin_) : kNever;
}

std::uint64_t OutgoingRing::issued() const noexcept {
  const auto open = run_header_ == nullptr ? 0 : run_header_ - at_;
  return calls_ + posted_ + (open == 0 ? 0 : static_cast<std::uint64_t>(open) / run_stride_);
}

OutgoingCounters OutgoingRing::counters() const noexcept {
  OutgoingCounters all = counters_;
  all.to = to_;
  all.results = kind_ == RingKind::kResults;
  all.calls = issued();
  all.bytes = bytes_;
  if (begin_ != nullptr && !gone_) {
    all.bytes += static_cast<std::uint64_t>(begin_ + options_.chunk_bytes - at_);
  }
  all.writes = writes_ + posted_;
  all.chunks = static_cast<std::uint32_t>(circle_.size());
  return all;
}

}  // namespace riutils
