// SPDX-License-Identifier: MIT
// SendSpace: from reservation to post.
#include "dsfabric/send_space.hpp"

#include <fmt/format.h>

#include "dsfabric/detail/inside.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "messages/message_engine.hpp"

namespace dsfabric {

dtutils::RDMAMemory MessageEngine::send_memory(ThreadContext& context,
                                               dtutils::Transmitter& transmitter,
                                               std::uint32_t bytes) {
  if (!context.send_memory) {
    dtutils::CircularAllocatorOptions options;
    options.unit_size = std::max<std::size_t>(receiver_.buffer_size(), 16 * dtutils::kPage);
    options.queue_pairs = members_.capacity();
    context.send_memory.emplace(send_pages_, options);
  }
  dtutils::Backoff backoff;
  for (;;) {
    if (auto memory = context.send_memory->allocate(bytes, 16)) {
      return std::move(*memory);
    }
    // The oldest piece is on its way to some peer, not necessarily to this one.
    transmitter.progress();
    progress(context) ? backoff.reset() : backoff.pause();
  }
}

SendSpace::SendSpace(Fabric& fabric, ProcessId to, std::uint32_t bytes)
    : messages_(detail::Inside::messages(fabric)), bytes_(bytes) {
  if (bytes > messages_.max_message()) {
    throw dtutils::Error(
        fmt::format("message to process {}", to.value),
        fmt::format("its {} bytes do not fit into a receive buffer, which takes {}", bytes,
                    messages_.max_message()),
        "send less, pass the data as a buffer by RDMA, or raise the setting receive_size");
  }
  MessageEngine::Way way = messages_.way_to(to);
  if (!way.transmitter) {
    return;
  }
  const std::uint32_t total = bytes + static_cast<std::uint32_t>(sizeof(MessageHeader));
  if (messages_.is_here(to)) {
    local_ = messages_.local_buffer(*way.context, total);
    if (local_ == nullptr) return;
    start_ = local_->data;
    ends_ = true;
  } else if (total > kInlineMessage || total > way.transmitter->queue_pair().max_inline()) {
    memory_ = messages_.send_memory(*way.context, *way.transmitter, total);
    start_ = memory_.data();
  }
  context_ = way.context;
  transmitter_ = &*way.transmitter;
  users_ = way.transmitter.take_over();
  if (users_ != nullptr) ends_ = true;
}

bool SendSpace::commit(MessageKind kind, ThreadId to, dtutils::Synchronizer* sent,
                       std::uint8_t flags) noexcept {
  if (transmitter_ == nullptr) {
    if (sent != nullptr) {
      sent->fail();
    }
    return false;
  }
  if (kind == MessageKind::kCall) context_->calls_sent.add(to.process);
  auto& header = *reinterpret_cast<MessageHeader*>(start_);
  header.kind = static_cast<std::uint8_t>(kind);
  header.flags = flags;
  header.destination = to.index;
  header.source = context_->name;
  header.bytes = bytes_;
  header.mark = kMessageMark;
  if (local_ != nullptr) return commit_here(sent);

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

bool SendSpace::commit_here(dtutils::Synchronizer* sent) noexcept {
  const bool done = messages_.deliver_here(*context_, *local_);
  if (done) {
    local_ = nullptr;
    ends_ = false;
  }
  if (sent != nullptr) done ? sent->decrement() : sent->fail();
  return done;
}

void SendSpace::end() noexcept {
  if (local_ != nullptr) messages_.give_back(*context_, *local_);
  if (users_ != nullptr) HeldTransmitter::give_back(users_);
}

}  // namespace dsfabric
