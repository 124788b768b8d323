// SPDX-License-Identifier: MIT
// Calls by messages: to any thread, at any time, without any set-up (Seriema 4.3).
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "dsfabric/calls.hpp"
#include "dsfabric/fabric.hpp"
#include "dsfabric/send_space.hpp"

namespace dsfabric {

/// The slow way to call, which needs nothing prepared: each call is one message through the
/// destination's shared receive queue. To workers, or to the service threads of a process
/// (ThreadId::service_of). Make one where you need it: it is cheap.
///
///     dsfabric::SendChannel calls{self.fabric()};
///     const auto greet = [from = self.id()] { fmt::print("hello from {}\n", from); };
///     if (calls.call(next, greet) == dsfabric::CallStatus::kPeerGone) ...
///
/// Its calls wait for room, so a call without a ReturnSlot never returns kFull. Handlers of calls
/// that came meanwhile run inside of them, as in Thread::progress. A call that is larger than a
/// receive buffer of the peer is refused with an Error (setup-like: it is a mistake in the
/// program). Owner thread only; any thread may have one of its own.
class SendChannel : public Calls<SendChannel> {
 public:
  /// Allocates nothing. Any thread.
  explicit SendChannel(Fabric& fabric) noexcept : fabric_(fabric) {}

  // What Calls needs.
  /// See CallChannel. Throws Error when the call is larger than a receive buffer.
  std::byte* reserve(ThreadId to, std::uint32_t function, std::uint32_t bytes);
  /// See CallChannel.
  static CallStatus refusal() noexcept { return CallStatus::kPeerGone; }
  /// See CallChannel.
  bool commit(dtutils::Synchronizer* sent) noexcept;
  /// See CallChannel.
  std::uint32_t index_at(ThreadId to, std::uint32_t function) const;
  /// See CallChannel.
  dtutils::Transmitter& transmitter(ThreadId to);
  /// The fabric that it calls through. Any thread, wait-free.
  Fabric& fabric() const noexcept { return fabric_; }

 private:
  Fabric& fabric_;
  ThreadId to_{};
  /// While one waits for room, handlers run, which may call through this channel: they get the
  /// second. Handlers do not run inside each other.
  std::array<std::optional<SendSpace>, 2> spaces_;
  std::size_t waiting_ = 0;
  std::optional<SendSpace>* space_ = nullptr;
};

}  // namespace dsfabric
