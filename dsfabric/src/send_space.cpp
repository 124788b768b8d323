// SPDX-License-Identifier: MIT
// SendSpace: from reservation to post.
#include "dsfabric/send_space.hpp"

#include <fmt/format.h>

#include "core.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace dsfabric {
namespace {

dtutils::RDMAMemory wait_for_memory(Core& core, ThreadContext& context,
                                    dtutils::Transmitter& transmitter, std::uint32_t bytes) {
  if (!context.send_memory) {
    dtutils::CircularAllocatorOptions options;
    options.unit_size = std::max<std::size_t>(core.config().receive_size, 16 * dtutils::kPage);
    options.queue_pairs = core.processes();
    context.send_memory.emplace(core.memory(core.placement().zones.front()).pages, options);
  }
  dtutils::Backoff backoff;
  for (;;) {
    if (auto memory = context.send_memory->allocate(bytes, 16)) {
      return std::move(*memory);
    }
    // The oldest piece is on its way to some peer, not necessarily to this one.
    transmitter.progress();
    core.progress(context) ? backoff.reset() : backoff.pause();
  }
}

}  // namespace

SendSpace::SendSpace(Fabric& fabric, ProcessId to, std::uint32_t bytes)
    : fabric_(fabric), bytes_(bytes) {
  if (bytes > fabric.max_message()) {
    throw dtutils::Error(
        fmt::format("message to process {}", to.value),
        fmt::format("its {} bytes do not fit into a receive buffer, which takes {}", bytes,
                    fabric.max_message()),
        "send less, pass the data as a buffer by RDMA, or raise the setting receive_size");
  }
  Core& core = fabric.core();
  if (!core.peer(to).active()) {
    return;
  }
  ThreadContext& context = core.thread_registry().mine();
  dtutils::Transmitter& transmitter = core.transmitter(context, to);
  core.keep_up(context);
  core.make_room(context, transmitter);
  const std::uint32_t total = bytes + static_cast<std::uint32_t>(sizeof(MessageHeader));
  if (total > kInlineMessage || total > transmitter.queue_pair().max_inline()) {
    memory_ = wait_for_memory(core, context, transmitter, total);
    start_ = memory_.data();
  }
  transmitter_ = &transmitter;
}

bool SendSpace::commit(MessageKind kind, ThreadId to, dtutils::Synchronizer* sent,
                       std::uint8_t flags) noexcept {
  if (transmitter_ == nullptr) {
    if (sent != nullptr) {
      sent->fail();
    }
    return false;
  }
  ThreadContext* const context = fabric_.core().thread_registry().known();
  if (kind == MessageKind::kCall) ThreadRegistry::count(context->calls_sent);
  auto& header = *reinterpret_cast<MessageHeader*>(start_);
  header.kind = static_cast<std::uint8_t>(kind);
  header.flags = flags;
  header.destination = to.index;
  header.source = context->name;
  header.bytes = bytes_;
  header.mark = kMessageMark;

  const std::uint32_t total = bytes_ + static_cast<std::uint32_t>(sizeof(MessageHeader));
  dtutils::PostOptions options(to.is_service() ? dtutils::kSolicited : 0u);
  options.sent = sent;
  if (start_ == inline_) {
    options.flags |= dtutils::kInlined;
    return transmitter_->send({inline_, total, 0}, options);
  }
  const bool posted = transmitter_->send(memory_.local(0, total), options);
  return transmitter_->recycle(memory_) && posted;
}

}  // namespace dsfabric
