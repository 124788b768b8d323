// SPDX-License-Identifier: MIT
// MessageEngine: invalid messages, and what becomes of the processes that sent them.
#include <fmt/format.h>

#include <exception>
#include <optional>

#include "mesh/farewell.hpp"
#include "messages/message_engine.hpp"

namespace dsfabric {

const char* MessageEngine::validate_header(const ibv_wc& completion,
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
  if (header.destination != ThreadId::kService && header.destination >= members_.threads()) {
    return "it is for a thread that does not exist";
  }
  if (header.source.process.value >= members_.count()) {
    return "its sender does not exist";
  }
  if (!header.source.is_service() && !members_.exists(header.source)) {
    return "its sending thread does not exist";
  }
  if (connections_.leads_to(header.source.process, completion.qp_num)) {
    return nullptr;
  }
  return "it came from another process than it says";
}

void MessageEngine::take_other(const ibv_wc& completion) noexcept {
  const std::byte* const data = Receiver::buffer_of(completion).data;
  if (completion.status == IBV_WC_SUCCESS) {
    const auto number = Farewell::number_in({data, completion.byte_len});
    const auto sender = number ? connections_.find(completion.qp_num) : std::nullopt;
    if (sender) return connections_.note_farewell(*sender, *number);
  }
  report_corrupt(completion);
}

void MessageEngine::report_corrupt(const ibv_wc& completion) noexcept {
  const auto sender = connections_.find(completion.qp_num);
  if (!sender) return;
  if (completion.status != IBV_WC_SUCCESS) {
    // The failure detector's thread tells a crash from an end in good order.
    failures_.look();
    return;
  }
  const auto& header =
      *reinterpret_cast<const MessageHeader*>(Receiver::buffer_of(completion).data);
  try {
    failures_.declare(
        *sender, fmt::format("it sent a corrupt message: {}", validate_header(completion, header)));
  } catch (const std::exception&) {
    failures_.declare(*sender, "it sent a corrupt message");
  }
}

}  // namespace dsfabric
