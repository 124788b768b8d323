// SPDX-License-Identifier: MIT
// Where the body of a message ends (RFC 9112, section 6), and which messages are refused for it.
#pragma once

#include <cstdint>

#include "proxy/message.hpp"

namespace proxy {

/// How the end of a body is found.
struct Framing {
  enum class Kind : std::uint8_t { kNone, kLength, kChunked, kUntilClose };
  Kind kind = Kind::kNone;
  /// Bytes, of kLength.
  std::uint64_t length = 0;
};

/// The body of a request. 0, or the status of the answer: 400 for anything by which two servers
/// could come to different ends of one request (several lengths, even equal ones; length and
/// chunked; chunked in HTTP/1.0), 501 for a transfer coding other than chunked.
int request_framing(const Request& request, Framing& framing) noexcept;

/// The body of a response to a HEAD request, or to another one. False when it is ambiguous as
/// above; what cannot have a body has none, whatever it says.
bool response_framing(const Response& response, bool to_head, Framing& framing) noexcept;

/// The connection stays open after a message with these fields (RFC 9112, section 9.3).
bool keeps_alive(const Fields& fields, int minor_version) noexcept;

}  // namespace proxy
