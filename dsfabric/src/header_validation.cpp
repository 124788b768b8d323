// SPDX-License-Identifier: MIT
// Core: messages that cannot be right, and what becomes of those who sent them.
#include <fmt/format.h>

#include <exception>

#include "core.hpp"

namespace dsfabric {

const char* Core::validate_header(const ibv_wc& completion,
                                  const MessageHeader& header) const noexcept {
  if (completion.byte_len < sizeof(MessageHeader) || header.mark != kMessageMark) {
    return "its first bytes are no header";
  }
  if (header.bytes != completion.byte_len - sizeof(MessageHeader)) {
    return "its length is not what the header says";
  }
  if (header.kind >= kMessageKinds) {
    return "its kind is unknown";
  }
  if (header.destination != ThreadId::kService &&
      header.destination >= peers_[self_.value].info.threads) {
    return "it is for a thread that does not exist";
  }
  if (header.source.process.value >= peers_.size()) {
    return "its sender does not exist";
  }
  const Peer& sender = peers_[header.source.process.value];
  if (!header.source.is_service() && header.source.index >= sender.info.threads) {
    return "its sending thread does not exist";
  }
  for (const auto& transmitter : sender.transmitters) {
    if (transmitter->queue_pair().raw()->qp_num == completion.qp_num) {
      return nullptr;
    }
  }
  return "it came from another process than it says";
}

void Core::report_corrupt(const ibv_wc& completion) noexcept {
  for (const Peer& peer : peers_) {
    for (const auto& transmitter : peer.transmitters) {
      if (transmitter->queue_pair().raw()->qp_num != completion.qp_num) {
        continue;
      }
      if (completion.status != IBV_WC_SUCCESS) {
        // The failure detector's thread tells a crash from an end in good order.
        failures_->look();
        return;
      }
      const auto& header =
          *reinterpret_cast<const MessageHeader*>(Receiver::buffer_of(completion).data);
      try {
        failures_->declare(peer.info.id, fmt::format("it sent a corrupt message: {}",
                                                     validate_header(completion, header)));
      } catch (const std::exception&) {
        failures_->declare(peer.info.id, "it sent a corrupt message");
      }
      return;
    }
  }
}

}  // namespace dsfabric
