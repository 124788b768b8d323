// SPDX-License-Identifier: MIT
// MessageEngine: messages of this process to itself, which go through no device.
#include "dtutils/wait.hpp"
#include "messages/message_engine.hpp"

namespace dsfabric {

ReceiveBuffer* MessageEngine::local_buffer(ThreadContext& context, std::size_t bytes) {
  if (!context.local_pools) {
    context.local_pools.emplace(receiver_.buffer_size(), local_limit_ / threads_.count());
  }
  dtutils::Backoff backoff;
  for (;;) {
    if (ReceiveBuffer* const buffer = context.local_pools->take(bytes, context.in_handler)) {
      return buffer;
    }
    if (!failures_.active(members_.self())) return nullptr;
    progress(context) ? backoff.reset() : backoff.pause();
  }
}

bool MessageEngine::deliver_here(ThreadContext& context, ReceiveBuffer& buffer) noexcept {
  const auto& header = *reinterpret_cast<const MessageHeader*>(buffer.data);
  const bool service = header.destination == ThreadId::kService;
  if (!service && header.destination >= members_.threads()) [[unlikely]] {
    failures_.declare(members_.self(),
                      "it sent a corrupt message: it is for a thread that does not exist");
    return false;
  }
  // What the thread has written to its own process comes first, as it would on a queue pair.
  dtutils::Transmitter& out = connections_.of(context, members_.self());
  if (!out.idle() && !out.flush()) return false;
  put_aside(buffer);
  if (service) service_sleep_.wake();
  return true;
}

void MessageEngine::give_back(ThreadContext& context, ReceiveBuffer& buffer) noexcept {
  if (buffer.pool == nullptr) {
    receiver_.give_back(buffer);
  } else if (context.local_pools && context.local_pools->owns(buffer)) {
    buffer.pool->put_back(buffer);
  } else {
    buffer.pool->give_back(buffer);
  }
}

}  // namespace dsfabric
