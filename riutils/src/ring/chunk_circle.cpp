// SPDX-License-Identifier: MIT
// ChunkCircle: from one chunk to the next, and how it gets more of them.
#include "riutils/detail/chunk_circle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "dsfabric/send_channel.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "ring/ring_registry.hpp"

namespace riutils::detail {
namespace {

/// Has a name (detail::kLayerNames), so that rings connect different programs too.
struct AskForChunks {
  static constexpr std::string_view kCallName = "cariama.layer.ask_for_chunks";
  GrantRequest request;
  Grant operator()(dsfabric::CallContext& call) const {
    return RingRegistry::of(call.fabric)->grant(call, request);
  }
};

}  // namespace

ChunkCircle::ChunkCircle(dsfabric::Fabric& fabric, dsfabric::ThreadId to, RingKind kind,
                         const RingOptions& options)
    : fabric_(fabric),
      to_(to),
      kind_(kind),
      options_(options),
      consumed_(fabric.general_allocator().allocate(dtutils::kCacheLine)),
      grant_(fabric) {
  dtutils::store_device_word(reinterpret_cast<std::uint64_t*>(consumed_.data()), std::uint64_t{0});
  slots_.reserve(options.chunk_limit);
  spare_.reserve(options.chunk_limit + options.queue_limit / options.chunk_bytes + 1);
}

bool ChunkCircle::next_is_free() const noexcept {
  if (slots_.empty()) return false;
  const Slot& next_slot = slots_[next()];
  // Pairs with the receiver's write after it has left the chunk.
  return next_slot.sequence == kUnused ||
         dtutils::load_device_word(reinterpret_cast<const std::uint64_t*>(consumed_.data())) >
             next_slot.sequence;
}

dtutils::RDMAMemory ChunkCircle::local_chunk(dtutils::NumaZone zone) noexcept {
  dtutils::RDMAMemory memory;
  if (!spare_.empty()) {
    memory = std::move(spare_.back());
    spare_.pop_back();
  } else if (auto fresh = fabric_.general_allocator(zone).try_allocate(options_.chunk_bytes)) {
    memory = std::move(*fresh);
  }
  return memory;
}

dtutils::RDMAMemory ChunkCircle::take_next_mirror(dtutils::NumaZone zone) noexcept {
  dtutils::RDMAMemory mirror = std::move(slots_[next()].mirror);
  return mirror ? std::move(mirror) : local_chunk(zone);
}

const dtutils::RemoteMemoryLocator& ChunkCircle::use_next(dtutils::RDMAMemory mirror) noexcept {
  slot_ = next();
  Slot& slot = slots_[slot_];
  // The receiver has consumed what the old mirror sent, so no device needs that any more.
  if (slot.mirror && spare_.size() < spare_.capacity()) spare_.push_back(std::move(slot.mirror));
  slot.mirror = std::move(mirror);
  slot.sequence = sequence_++;
  grown_ = 0;
  return slot.chunk;
}

std::uint32_t ChunkCircle::wanted() const noexcept {
  return empty() ? options_.chunks
                 : std::min({options_.chunk_limit - size(), size(), Grant::kMaxChunks});
}

bool ChunkCircle::ask() {
  // First: sending the question may run handlers, whose calls come here too.
  asked_ = true;
  const GrantRequest request{to_.index, kind_, options_.chunk_bytes, wanted(), consumed_.remote()};
  dsfabric::SendChannel services(fabric_);
  const dsfabric::CallStatus sent = services.call_return(
      dsfabric::ThreadId::service_of(to_.process), AskForChunks{request}, grant_);
  if (sent == dsfabric::CallStatus::kFull) {
    asked_ = false;
    throw dtutils::Error(
        fmt::format("ring to thread {}", to_),
        "too many calls of this process wait for a result, so its memory cannot be "
        "requested",
        "wait for some of those results first");
  }
  return sent != dsfabric::CallStatus::kPeerGone;
}

bool ChunkCircle::take_grant() {
  asked_ = false;
  Grant grant;
  try {
    grant = grant_.get();
  } catch (const dtutils::Error&) {
    return false;
  }
  refused_ = grant.count == 0;
  // Behind the chunk in use, and behind those that are new there. At first there is none in use:
  // the last one then counts as just left.
  const bool first = slots_.empty();
  auto at = slots_.begin() + static_cast<std::ptrdiff_t>(first ? 0 : slot_ + 1 + grown_);
  for (std::uint32_t i = 0; i < grant.count; ++i) {
    at = slots_.insert(at, Slot{grant.chunks[i], {}}) + 1;
  }
  if (!first) {
    grown_ += grant.count;
  } else if (!slots_.empty()) {
    slot_ = slots_.size() - 1;
  }
  return true;
}

void ChunkCircle::require_any() const {
  if (refused_ && slots_.empty()) {
    throw dtutils::Error(
        fmt::format("ring to thread {}", to_),
        fmt::format("its process gave no chunks of {} bytes", options_.chunk_bytes),
        "ask for a smaller ring, or raise the setting memory_limit there");
  }
}

}  // namespace riutils::detail
