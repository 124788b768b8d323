// SPDX-License-Identifier: MIT
// What of a message is passed on, and what is said in its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/document.hpp"
#include "proxy/framing.hpp"
#include "proxy/message.hpp"

namespace proxy {

/// How the proxy is called in Via and Cache-Status.
inline constexpr std::string_view kProxyName = "cariama";

/// What Via says of a message that has come in HTTP/1.`minor_version` (RFC 9110, section 7.6.3).
std::string via(int minor_version);

/// The field lines of a response that are stored and passed on: all but those for one connection
/// (RFC 9110, section 7.6.1; also those that Connection names), Content-Length and Age, which are
/// written anew each time. A Date is added where there is none. `now` in seconds since 1970.
std::string forwarded_fields(const Response& response, std::int64_t now);

/// The head of an interim response (1xx) as it is passed on.
std::string interim_response(const Response& response);

/// How often an OPTIONS request may still be passed on, if it says so (RFC 9110, section 7.6.2).
std::optional<std::uint64_t> forwards_left(const Request& request) noexcept;

/// The field lines of a stored response after the origin has said that it is still the same (RFC
/// 9111, section 3.2): those of the 304 replace those of the same names, but for those of the body.
std::string updated_fields(std::string_view stored, const Response& not_modified, std::int64_t now);

/// The lines that a 304 has of a stored response (RFC 9110, section 15.4.5).
void append_fields_of_304(std::string& text, std::string_view stored);

/// How a request is passed on.
struct ForwardOptions {
  /// Without conditions and ranges, since the whole response is of use to others too.
  bool whole = false;
  /// Ask whether this one is still the same.
  const Document* validate = nullptr;
  Framing body;
  /// For X-Forwarded-For.
  std::string_view client_address;
  /// For a request without a host.
  std::string_view default_host;
};

/// The head of the request to the origin, with Via and X-Forwarded-For. One that says how often it
/// may be passed on may be so once, at least.
std::string origin_request(const Request& request, const ForwardOptions& options);

}  // namespace proxy
