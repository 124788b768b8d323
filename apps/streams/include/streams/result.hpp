// SPDX-License-Identifier: MIT
// What a call on a stream answers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streams {

/// Why a call did not do more.
enum class Status : std::uint8_t {
  /// It did what it could; `Result::bytes` is not 0, unless it was asked for 0.
  kOk,
  /// No space, or no bytes, at the moment. Not an error.
  kWouldBlock,
  /// The time given to a blocking call is over.
  kTimeout,
  /// The peer has sent all that it wants to send, and all of it was received.
  kEnd,
  /// The peer died, or closed the stream without reading everything (ECONNRESET). What had arrived
  /// was delivered before.
  kReset,
  /// Nobody can receive any more what would be sent (EPIPE).
  kBrokenPipe,
};

/// Answer of a send or a receive.
struct Result {
  /// How many bytes were taken or given, also when `status` says why there were no more.
  std::size_t bytes;
  /// See Status.
  Status status;
};

}  // namespace streams
