// SPDX-License-Identifier: MIT
// OutgoingRing: everything but the usual call.
#include "riutils/outgoing_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsfabric/send_channel.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "dtutils/wait_hook.hpp"
#include "ring/limits.hpp"
#include "ring/stations.hpp"
#include "riutils/station.hpp"

namespace riutils {
namespace {

const RingOptions& checked(const RingOptions& options) {
  const auto refuse = [](const std::string& what, const std::string& remedy) {
    throw dtutils::Error("ring options", what, remedy);
  };
  if (options.chunk_bytes < kLeastChunk || options.chunk_bytes > kMostChunk ||
      options.chunk_bytes % dtutils::kCacheLine != 0) {
    refuse(fmt::format("chunk_bytes is {}", options.chunk_bytes),
           fmt::format("use a multiple of {} from {} to {}", dtutils::kCacheLine, kLeastChunk,
                       kMostChunk));
  }
  if (options.chunks < 2 || options.chunks > options.chunk_limit || options.chunks > Grant::kMost) {
    refuse(fmt::format("chunks is {} and chunk_limit {}", options.chunks, options.chunk_limit),
           fmt::format("begin with 2 to {} chunks, and no more than chunk_limit", Grant::kMost));
  }
  return options;
}

bool same_program(dsfabric::Fabric& fabric, dsfabric::ThreadId to) {
  try {
    for (std::uint32_t i = 0; i < dsfabric::FunctionTable::instance().size(); ++i) {
      if (dsfabric::detail::index_at(fabric, to, i) != i) return false;
    }
  } catch (const dtutils::Error&) {
    return false;
  }
  return true;
}

}  // namespace

/// On the stack of the call that waits; the ring knows it until one of the two lets go.
struct OutgoingRing::Waiter {
  explicit Waiter(OutgoingRing& its_ring) noexcept : ring(its_ring), next(its_ring.waiters_) {
    ring.waiters_ = this;
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    for (Waiter** at = &ring.waiters_; *at != nullptr; at = &(*at)->next) {
      if (*at == this) {
        *at = next;
        return;
      }
    }
  }

  OutgoingRing& ring;
  Waiter* next;
  dtutils::Synchronizer room{1};
};

OutgoingRing::OutgoingRing(Station& station, dsfabric::ThreadId to, const RingOptions& options)
    : transmitter_(&station.fabric().transmitter(to.process)),
      inline_limit_(transmitter_->queue_pair().max_inline()),
      in_order_(transmitter_->queue_pair().device().data_in_order(transmitter_->queue_pair().raw(),
                                                                  IBV_WR_RDMA_WRITE)),
      same_program_(same_program(station.fabric(), to)),
      station_(station),
      to_(to),
      options_(checked(options)),
      consumed_(station.fabric().general_allocator().allocate(dtutils::kCacheLine)),
      grant_(station.fabric()) {
  if (dsfabric::FunctionTable::instance().size() >= RingHeader::kMostFunctions) {
    throw dtutils::Error("ring",
                         "the program has more remotely called functions than a header names",
                         fmt::format("use less than {}", RingHeader::kMostFunctions));
  }
  dtutils::store_device_word(reinterpret_cast<std::uint64_t*>(consumed_.data()), std::uint64_t{0});
  circle_.reserve(options_.chunk_limit);
  spare_.reserve(options_.chunk_limit + options_.held_limit / options_.chunk_bytes + 1);
}

OutgoingRing::~OutgoingRing() = default;

// --- setting up and growing --------------------------------------------------------------------

void OutgoingRing::ask_for_chunks() {
  const auto have = static_cast<std::uint32_t>(circle_.size());
  const std::uint32_t want =
      have == 0 ? options_.chunks : std::min({options_.chunk_limit - have, have, Grant::kMost});
  if (asked_ || refused_ || want == 0) return;
  // First: sending the question may run handlers, whose calls come here too.
  asked_ = true;
  station_.attend_to(*this);
  const GrantRequest request{to_.index, options_.chunk_bytes, want, consumed_.remote()};
  dsfabric::SendChannel services(station_.fabric());
  const bool sent = services.call_return(
      dsfabric::ThreadId::service_of(to_.process),
      [request](dsfabric::CallContext& call) {
        return Stations::of(call.fabric)->grant(call, request);
      },
      grant_);
  if (!sent) give_up();
}

void OutgoingRing::take_grant() {
  asked_ = false;
  Grant grant;
  try {
    grant = grant_.get();
  } catch (const dtutils::Error&) {
    give_up();
    return;
  }
  refused_ = grant.count == 0;
  // Behind the chunk in use, and behind those that are new there. At first there is none in use:
  // the last one then counts as just left.
  const bool first = circle_.empty();
  auto at = circle_.begin() + static_cast<std::ptrdiff_t>(first ? 0 : slot_ + 1 + grown_);
  for (std::uint32_t i = 0; i < grant.count; ++i) {
    at = circle_.insert(at, Slot{grant.chunks[i], {}}) + 1;
  }
  if (!first) {
    grown_ += grant.count;
  } else if (!circle_.empty()) {
    slot_ = circle_.size() - 1;
  }
}

void OutgoingRing::setup(const SendPolicy&) {
  while (circle_.empty() && !gone_) {
    if (asked_ && grant_.done()) take_grant();
    if (!circle_.empty() || gone_) return;
    require_chunks();
    ask_for_chunks();
    const bool in_handler = station_.thread().in_dispatcher();
    if (!wait_for_room(in_handler) && in_handler) return;
  }
}

void OutgoingRing::require_chunks() const {
  if (refused_ && circle_.empty()) {
    throw dtutils::Error(
        fmt::format("ring to thread {}", to_),
        fmt::format("its process gave no chunks of {} bytes", options_.chunk_bytes),
        "ask for a smaller ring, or raise the setting memory_limit there");
  }
}

// --- the way of the chunks ---------------------------------------------------------------------

bool OutgoingRing::next_is_free() const noexcept {
  if (circle_.empty()) return false;
  const Slot& next = circle_[(slot_ + 1) % circle_.size()];
  // Pairs with the receiver's write after it has left the chunk.
  return next.sequence == kUnused ||
         dtutils::load_device_word(reinterpret_cast<const std::uint64_t*>(consumed_.data())) >
             next.sequence;
}

dtutils::RDMAMemory OutgoingRing::local_chunk() noexcept {
  dtutils::RDMAMemory memory;
  if (!spare_.empty()) {
    memory = std::move(spare_.back());
    spare_.pop_back();
  } else if (auto fresh = station_.fabric()
                              .general_allocator(station_.thread().zone())
                              .try_allocate(options_.chunk_bytes)) {
    memory = std::move(*fresh);
  }
  return memory;
}

void OutgoingRing::enter(dtutils::RDMAMemory mirror) noexcept {
  slot_ = (slot_ + 1) % circle_.size();
  Slot& slot = circle_[slot_];
  // The receiver has consumed what the old mirror sent, so no device needs that any more.
  if (slot.mirror) spare_.push_back(std::move(slot.mirror));
  slot.mirror = std::move(mirror);
  slot.sequence = sequence_++;
  grown_ = 0;
  to_remote_ = slot.chunk.address - reinterpret_cast<std::uint64_t>(slot.mirror.data());
  rkey_ = slot.chunk.rkey;
  lkey_ = slot.mirror.lkey();
}

bool OutgoingRing::enter() noexcept {
  dtutils::RDMAMemory mirror = std::move(circle_[(slot_ + 1) % circle_.size()].mirror);
  if (!mirror) mirror = local_chunk();
  if (!mirror) return false;
  if (tail_ != nullptr) {
    stop_filling();
    if (!post(RingHeader{RingHeader::kControl, grown_, 0}.encode(), nullptr)) return false;
    ++counters_.chunks_filled;
  }
  start_filling(mirror);
  enter(std::move(mirror));
  sent_ = tail_ = at_;
  refresh();
  return true;
}

void OutgoingRing::start_filling(const dtutils::RDMAMemory& memory) noexcept {
  begin_ = memory.data();
  at_ = floor_ = begin_ + options_.chunk_bytes;
}

void OutgoingRing::stop_filling() noexcept {
  close_record();
  bytes_ += static_cast<std::uint64_t>(begin_ + options_.chunk_bytes - at_);
}

bool OutgoingRing::hold() noexcept {
  if ((held_.size() + 1) * options_.chunk_bytes > options_.held_limit) return false;
  dtutils::RDMAMemory memory = local_chunk();
  if (!memory) return false;
  if (begin_ != nullptr) {
    stop_filling();
    if (!held_.empty()) {
      held_.back().low = at_;
    } else {
      if (at_ != sent_ && !post(0, nullptr)) return false;
      tail_ = at_;
    }
  }
  start_filling(memory);
  sent_ = nullptr;
  held_.push_back({std::move(memory)});
  ++counters_.held;
  refresh();
  station_.attend_to(*this);
  return true;
}

void OutgoingRing::send_held() noexcept {
  while (!held_.empty() && next_is_free() && !is_backlogged()) {
    if (tail_ != nullptr) {
      put_word(tail_ - kRingWord, RingHeader{RingHeader::kControl, grown_, 0}.encode());
      bool inlined;
      if (!write(tail_ - kRingWord, tail_, nullptr, inlined)) return;
      ++counters_.chunks_filled;
    }
    const std::vector<dtutils::Synchronizer*> sent = std::move(held_.front().sent);
    std::byte* low = held_.front().low;
    const bool last = held_.size() == 1;
    if (last) {
      close_record();
      low = at_;
    }
    std::byte* const end = held_.front().memory.data() + options_.chunk_bytes;
    enter(std::move(held_.front().memory));
    held_.pop_front();
    put_word(low - kRingWord, 0);
    bool inlined = true;
    const bool written = low == end || write(low - kRingWord, end, nullptr, inlined);
    tail_ = inlined ? low : low - kRingWord;
    if (!inlined) to_remote_ += kRingWord;
    if (last) at_ = sent_ = floor_ = tail_;
    for (dtutils::Synchronizer* const each : sent) {
      // Of no bytes: it completes after the calls. When it is refused, the Synchronizer fails.
      if (!transmitter_->write(dtutils::LocalBuffer{}, {}, dtutils::How(*each))) give_up();
    }
    if (!written || gone_) return;
  }
  refresh();
}

bool OutgoingRing::next_chunk(const SendPolicy& policy, std::uint32_t needed) {
  for (bool first = true;; first = false) {
    if (asked_ && grant_.done()) take_grant();
    require_chunks();
    send_held();
    if (gone_) return false;
    if (static_cast<std::size_t>(at_ - begin_) >= needed) return true;
    if (held_.empty() && next_is_free()) return enter();
    if (first) ++counters_.stalls;
    ask_for_chunks();
    if (policy.hold && hold()) return true;
    const bool in_handler = station_.thread().in_dispatcher();
    const bool setting_up = circle_.empty() && !in_handler;
    if (policy.when_full != WhenFull::kRetry && !setting_up) return false;
    // In a handler that is no fiber: whoever is to make room may wait for this very thread.
    if (!wait_for_room(in_handler)) return hold();
  }
}

bool OutgoingRing::wait_for_room(bool in_handler) {
  Waiter waiter(*this);
  station_.attend_to(*this);
  dtutils::Backoff backoff;
  do {
    ++counters_.retries;
    if (attend(); waiter.room.done()) return true;
    // A fiber comes back from here when there is room.
    dtutils::run_wait_hook(waiter.room) ? backoff.reset() : backoff.pause();
  } while (!in_handler && !waiter.room.done());
  return waiter.room.done();
}

// --- calls -------------------------------------------------------------------------------------

std::byte* OutgoingRing::reserve(std::uint32_t function, std::uint32_t bytes,
                                 const SendPolicy& policy) {
  const std::uint32_t there =
      same_program_ ? function : dsfabric::detail::index_at(station_.fabric(), to_, function);
  const std::uint32_t stride = ring_stride(bytes);
  const std::uint32_t needed = stride + kRingOverhead;
  if (needed > options_.chunk_bytes || bytes > RingHeader::kMostBytes) {
    throw dtutils::Error(
        fmt::format("call to thread {}", to_),
        fmt::format("its {} bytes do not fit into a chunk of {}", bytes, options_.chunk_bytes),
        "raise chunk_bytes in RingOptions, or pass the data as a buffer by RDMA");
  }
  if (is_backlogged()) station_.fabric().make_room(*transmitter_);
  // First: it takes a word of the room.
  if (sent_ != nullptr && at_ != sent_ && policy.gather != 0 &&
      static_cast<std::size_t>(sent_ - at_) + stride + kRingWord > policy.gather &&
      !post(0, nullptr)) {
    return nullptr;
  }
  while (gone_ || static_cast<std::size_t>(at_ - begin_) < needed) {
    if (gone_ || !next_chunk(policy, needed)) return nullptr;
  }
  close_record();
  const bool plain = bytes == dsfabric::FunctionTable::instance().entry(function).bytes;
  reserved_ = {{there, 0, bytes}, plain ? function : kNoRun};
  return at_ - kRingWord - stride;
}

bool OutgoingRing::commit(dtutils::Synchronizer* sent, const SendPolicy& policy) noexcept {
  const bool first = at_ == sent_;
  open_record(reserved_.header, reserved_.run_function);
  const auto room = static_cast<std::size_t>(at_ - begin_ - 2 * kRingWord);
  if (!held_.empty()) {
    floor_ = at_ - room;
    if (sent != nullptr) held_.back().sent.push_back(sent);
    return true;
  }
  if (policy.gather == 0 || sent != nullptr) return post(0, sent);
  const auto gathered = static_cast<std::size_t>(sent_ - at_);
  floor_ = at_ - std::min(room, policy.gather - std::min<std::size_t>(gathered, policy.gather));
  if (first) {
    gathered_ = station_.epoch();
    station_.attend_to(*this);
  }
  return true;
}

bool OutgoingRing::post(std::uint64_t last_word, dtutils::Synchronizer* sent) noexcept {
  close_record();
  put_word(at_ - kRingWord, last_word);
  bool inlined;
  if (!write(at_ - kRingWord, sent_, sent, inlined)) return false;
  leave_behind(at_ - kRingWord, inlined);
  return true;
}

bool OutgoingRing::write(std::byte* low, std::byte* high, dtutils::Synchronizer* sent,
                         bool& inlined) noexcept {
  const auto write_part = [&](std::byte* from, std::byte* to, dtutils::Synchronizer* tell) {
    const auto bytes = static_cast<std::uint32_t>(to - from);
    const bool copied = bytes <= inline_limit_;
    dtutils::How how(copied ? dtutils::kInlined : dtutils::kUnsignaled);
    how.sent = tell;
    if (from == low) inlined = copied;
    ++writes_;
    return transmitter_->write(
        {from, bytes, lkey_},
        {reinterpret_cast<std::uint64_t>(from) + to_remote_, bytes, rkey_, to_.process.value, 0},
        how);
  };
  // The header that the receiver waits for is the highest word; it must land last.
  std::byte* const header = high - kRingWord;
  const bool split = !in_order_ && low != header;
  const bool written =
      (!split || write_part(low, header, nullptr)) && write_part(split ? header : low, high, sent);
  return written || give_up();
}

bool OutgoingRing::flush() noexcept {
  send_held();
  if (!gone_ && held_.empty() && at_ != sent_) (void)post(0, nullptr);
  return gone_ || !unsent();
}

bool OutgoingRing::attend() noexcept {
  if (!gone_ && station_.fabric().state(to_.process) != dsfabric::PeerState::kActive) give_up();
  if (!gone_ && asked_ && grant_.done()) take_grant();
  if (!gone_) send_held();
  const bool old = held_.empty() && at_ != sent_ && station_.epoch() - gathered_ >= 2;
  if (!gone_ && old && !is_backlogged()) (void)post(0, nullptr);
  if (waiters_ != nullptr && has_room()) wake();
  return !gone_ && (asked_ || unsent() || waiters_ != nullptr);
}

void OutgoingRing::wake() noexcept {
  Waiter* waiter = std::exchange(waiters_, nullptr);
  while (waiter != nullptr) {
    // A waiter may be gone as soon as it is told.
    Waiter* const next = waiter->next;
    waiter->room.decrement();
    waiter = next;
  }
}

bool OutgoingRing::give_up() noexcept {
  gone_ = true;
  close_record();
  at_ = sent_ = floor_ = begin_;
  for (Held& held : held_) {
    for (dtutils::Synchronizer* const each : held.sent) each->fail();
  }
  held_.clear();
  refresh();
  wake();
  return false;
}

void OutgoingRing::refresh() noexcept {
  const bool usual = !gone_ && held_.empty() && tail_ != nullptr && in_order_ && same_program_;
  post_floor_ = usual ? reinterpret_cast<std::uintptr_t>(begin_) : kNever;
}

std::uint64_t OutgoingRing::issued() const noexcept {
  const auto open = run_header_ == nullptr ? 0 : run_header_ - at_;
  return calls_ + (open == 0 ? 0 : static_cast<std::uint64_t>(open) / run_stride_);
}

OutgoingCounters OutgoingRing::counters() const noexcept {
  OutgoingCounters all = counters_;
  all.to = to_;
  all.calls = issued();
  all.bytes = bytes_;
  if (begin_ != nullptr && !gone_) {
    all.bytes += static_cast<std::uint64_t>(begin_ + options_.chunk_bytes - at_);
  }
  all.writes = writes_;
  all.chunks = static_cast<std::uint32_t>(circle_.size());
  return all;
}

}  // namespace riutils
