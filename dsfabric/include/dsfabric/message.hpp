// SPDX-License-Identifier: MIT
// Wire format: the header of every message, and a message as its message handler sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "dsfabric/ids.hpp"

namespace dsfabric {

class Fabric;
class Thread;

/// Which layer a message belongs to: the index of its message handler. A layer above takes a free
/// number from kFirstFree on.
enum class MessageKind : std::uint8_t { kControl = 0, kCall = 1, kGroup = 2, kFirstFree = 3 };
/// Kinds are below this number.
inline constexpr std::size_t kMessageKinds = 16;

/// Before the payload of each message, in host byte order (every host of a job has the same):
///
///   byte  0      1       2             4        8       12
///         | kind | flags | destination | source | bytes | mark |
///
/// The receiver checks all of it; an invalid header fails the peer that sent it.
struct MessageHeader {
  /// A MessageKind.
  std::uint8_t kind;
  /// Free for the layer of that kind.
  std::uint8_t flags;
  /// Worker index in the receiving process, or ThreadId::kService.
  std::uint16_t destination;
  /// The sending worker, or {process, ThreadId::kService} for any other thread.
  ThreadId source;
  /// Bytes of the payload.
  std::uint32_t bytes;
  /// kMessageMark.
  std::uint32_t mark;
};
/// Stands at the end of each header.
inline constexpr std::uint32_t kMessageMark = 0x4d495243;

static_assert(sizeof(MessageHeader) == 16 && offsetof(MessageHeader, source) == 4 &&
              offsetof(MessageHeader, bytes) == 8 && offsetof(MessageHeader, mark) == 12);
static_assert(std::is_trivially_copyable_v<MessageHeader> &&
              std::is_standard_layout_v<MessageHeader>);

/// A message that has arrived, on the thread that runs it. The payload is valid until the
/// message handler returns; it starts at a multiple of 16 bytes.
struct Incoming {
  /// The sending worker, or {process, ThreadId::kService} for any other thread.
  ThreadId source;
  /// As the sender gave them.
  std::uint8_t flags;
  /// The bytes behind the header. The message handler may change them.
  std::span<std::byte> payload;
  /// The fabric that received it.
  Fabric& fabric;
  /// The worker that runs it; nullptr on a service thread, or on any thread that serves a service
  /// message while it waits.
  Thread* worker;
};

/// Runs one message. Called from progress() of the destination worker, or of whichever thread comes
/// by first for service messages, never while another message handler runs on the same thread. It
/// may send, but it waits for nothing that needs this thread to run handlers. False: the payload is
/// invalid, and the peer that sent it is failed. An exception leaves through progress().
struct MessageHandler {
  /// The function; nullptr: no message handler.
  bool (*run)(void* context, const Incoming& message) = nullptr;
  /// Its first argument.
  void* context = nullptr;
};

}  // namespace dsfabric
