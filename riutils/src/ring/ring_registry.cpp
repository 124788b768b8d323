// SPDX-License-Identifier: MIT
// RingRegistry: found through the fabric; memory for senders.
#include "ring/ring_registry.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "dsfabric/send_channel.hpp"
#include "dtutils/device_memory.hpp"
#include "fiber/fiber_pools.hpp"
#include "ring/new_chunks.hpp"
#include "ring/ring_limits.hpp"

namespace riutils {
namespace {

/// Has a name of the layers, so that two programs do not fit together because of it: in shared
/// libraries both find it at the same place.
struct OpenRings {
  static constexpr std::string_view kCallName = "cariama.layer.open_rings";
  void operator()(dsfabric::CallContext& call) const { RingSet::open(*call.worker); }
};

}  // namespace

RingRegistry::RingRegistry(dsfabric::Fabric& fabric) : fabric_(fabric) {
  const std::uint32_t workers = fabric.info(fabric.process()).threads;
  for (std::uint32_t i = 0; i < workers; ++i) all_.push_back(std::make_unique<RingSet>(fabric, i));
  // In later runs nothing need ask for it: their first calls may go through rings of this one.
  fabric.at_thread_start(
      [](dsfabric::Thread& worker) { RingSet::open(worker).receiver().defer_fibers(true); });
  fabric.add_call_ledger(*this);
}

RingRegistry::~RingRegistry() = default;

void RingRegistry::flush(dsfabric::Thread& worker) noexcept { (void)at(worker.id().index).flush(); }

dsfabric::CallCount RingRegistry::count(dsfabric::Thread& worker,
                                        std::span<const dsfabric::ProcessId> processes) {
  dsfabric::CallCount mine{at(worker.id().index).issued(processes), 0};
  if (worker.id().index != 0) return mine;
  for (const auto& ring_set : all_) mine.executed += ring_set->executed(processes);
  // After the receivers: a pool counts a fiber that waits before its receiver counts the call
  // (FiberPool::suspend). That is why one worker reads those of its whole process.
  mine.executed -= detail::FiberPools::of(fabric_)->unfinished(processes);
  return mine;
}

void RingRegistry::work_ended(dsfabric::Thread& worker) noexcept {
  detail::RingReceiver& receiver = at(worker.id().index).receiver();
  // It will have no FiberPool any more, so calls that need one end with an Error.
  if (receiver.defers_fibers()) receiver.defer_fibers(false);
}

std::shared_ptr<RingRegistry> RingRegistry::of(dsfabric::Fabric& fabric) {
  static constexpr char kKey = 0;
  return std::static_pointer_cast<RingRegistry>(fabric.attachment(
      &kKey, [](dsfabric::Fabric& owner) { return std::make_shared<RingRegistry>(owner); }));
}

detail::Grant RingRegistry::grant(dsfabric::CallContext& call, const GrantRequest& request) {
  if (request.receiver >= all_.size() || request.chunks > detail::Grant::kMaxChunks ||
      request.chunk_bytes < kMinChunk || request.chunk_bytes > kMaxChunk ||
      request.chunk_bytes % dtutils::kCacheLine != 0 || call.source.is_service()) {
    return {};
  }
  const dsfabric::ThreadId receiver{fabric_.process(), request.receiver};
  auto& allocator = fabric_.general_allocator(fabric_.zone_of(receiver));
  NewChunks given{call.source, request.kind, request.consumed_word, {}};
  detail::Grant grant;
  while (grant.count < request.chunks) {
    auto chunk = allocator.try_allocate(request.chunk_bytes);
    if (!chunk) break;
    std::byte* const end = chunk->data() + request.chunk_bytes;
    dtutils::store_device_word(reinterpret_cast<std::uint64_t*>(end - detail::kRingWord),
                               std::uint64_t{0});
    grant.chunks[grant.count] = chunk->remote();
    grant.chunks[grant.count++].process = receiver.process.value;
    given.chunks.push_back(std::move(*chunk));
  }
  // Before the answer: the receiver finds them as soon as a control word counts them.
  if (grant.count != 0) {
    RingSet& ring_set = at(request.receiver);
    ring_set.receiver().join(std::move(given));
    if (!ring_set.opened()) open(receiver);
  }
  return grant;
}

void RingRegistry::open(dsfabric::ThreadId worker) {
  dsfabric::SendChannel messages(fabric_);
  // False: this process is about to end.
  (void)messages.call(worker, OpenRings{});
}

}  // namespace riutils
