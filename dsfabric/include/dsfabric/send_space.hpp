// SPDX-License-Identifier: MIT
// Registered space for one message to any process: reserve, fill in, commit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dsfabric/ids.hpp"
#include "dsfabric/message.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/transmitter.hpp"

namespace dsfabric {

class MessageEngine;
class ThreadContext;
struct ReceiveBuffer;

/// Bytes of a message with its header that travel inline, where the device can.
inline constexpr std::uint32_t kInlineMessage = 256;

/// Space for one message, on the stack of its sender: small ones are copied by the post itself,
/// others lie in registered memory of the calling thread. A message to its own process lies where
/// its handler finds it, and goes through no device.
///
///     SendSpace space(fabric, to.process, bytes);
///     if (!space) return false;                       // the peer is gone
///     new (space.payload()) Record{...};
///     return space.commit(MessageKind::kCall, to);    // false: the peer is gone
///
/// Who owns the bytes: the sender until commit, the device afterwards. A space that is destroyed
/// without commit sends nothing.
///
/// The peer's connection is not closed while the space lives (Config::max_connections).
///
/// The constructor runs messages for a worker now and then, so that one which only sends keeps up
/// with what comes. Both steps wait for room (registered memory, send queue) while making progress;
/// inside a message handler that takes messages in but runs none. Messages to its own process wait
/// when many of them have not been run; what a handler sends there never waits. Any thread, also
/// one that the fabric has never seen: its first message allocates, and throws Error when more than
/// Config::outside_threads such threads live. Otherwise they do not throw, except the constructor:
/// Error when the message can never fit (Fabric::max_message()), std::bad_alloc when there is no
/// memory for a message to its own process.
class SendSpace {
 public:
  /// Room for a payload of `bytes` bytes; waits for it as the class says.
  SendSpace(Fabric& fabric, ProcessId to, std::uint32_t bytes);
  SendSpace(const SendSpace&) = delete;
  SendSpace& operator=(const SendSpace&) = delete;
  ~SendSpace() {
    if (ends_) end();
  }

  /// False when the peer has failed or left.
  explicit operator bool() const noexcept { return transmitter_ != nullptr; }
  /// `bytes` bytes at a multiple of 16.
  std::byte* payload() const noexcept { return start_ + sizeof(MessageHeader); }
  /// Bytes of the payload.
  std::uint32_t bytes() const noexcept { return bytes_; }

  /// What is posted here before the commit arrives before the message. Of a space that is none: do
  /// not ask.
  dtutils::Transmitter& transmitter() const noexcept { return *transmitter_; }

  /// Sends it to a thread of the process that the space is for. With `sent`, that Synchronizer is
  /// decremented when the peer's device has the message, or failed; exactly once, also when commit
  /// returns false. False: the peer is gone, or gone meanwhile, and nothing was sent.
  [[nodiscard]] bool commit(MessageKind kind, ThreadId to, dtutils::Synchronizer* sent = nullptr,
                            std::uint8_t flags = 0) noexcept;

 private:
  bool commit_here(dtutils::Synchronizer* sent) noexcept;
  void end() noexcept;

  MessageEngine& messages_;
  ThreadContext* context_ = nullptr;
  dtutils::Transmitter* transmitter_ = nullptr;
  /// Of a message to its own process, until it is sent.
  ReceiveBuffer* local_ = nullptr;
  /// Of the connection, when it may be closed: this one is counted there.
  std::atomic<std::uint32_t>* users_ = nullptr;
  std::byte* start_ = inline_;
  std::uint32_t bytes_;
  /// It has a local message, or is counted.
  bool ends_ = false;
  dtutils::RDMAMemory memory_;
  alignas(16) std::byte inline_[kInlineMessage];  // NOLINT: left unset, a message fills it
};

}  // namespace dsfabric
