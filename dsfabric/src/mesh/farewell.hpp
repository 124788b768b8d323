// SPDX-License-Identifier: MIT
// Wire format: the last message on a queue pair whose connection is about to be closed.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "dsfabric/message.hpp"

namespace dsfabric {

/// No message handler runs it: who takes it from the receive queue notes it. Its kind is none of
/// those below kMessageKinds, so that messages cost no look for it.
struct Farewell {
  static constexpr std::uint8_t kKind = 0xff;

  MessageHeader header;
  std::uint64_t number;

  Farewell(ProcessId from, std::uint64_t its_number) noexcept
      : header{kKind,
               0,
               ThreadId::kService,
               ThreadId::service_of(from),
               sizeof(std::uint64_t),
               kMessageMark},
        number(its_number) {}

  /// The number of the farewell that these bytes are; empty: they are none.
  static std::optional<std::uint64_t> number_in(std::span<const std::byte> message) noexcept {
    MessageHeader header;
    std::uint64_t number;
    if (message.size() != sizeof header + sizeof number) return {};
    std::memcpy(&header, message.data(), sizeof header);
    std::memcpy(&number, message.data() + sizeof header, sizeof number);
    if (header.mark != kMessageMark || header.kind != kKind) return {};
    return number;
  }
};
static_assert(sizeof(Farewell) == sizeof(MessageHeader) + sizeof(std::uint64_t));
static_assert(Farewell::kKind >= kMessageKinds);

}  // namespace dsfabric
