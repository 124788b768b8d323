// SPDX-License-Identifier: MIT
// Heads of requests and responses: found in a stream of bytes, and parsed strictly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proxy/fields.hpp"

namespace proxy {

/// Field lines of a head at most.
inline constexpr std::size_t kMaxFields = 100;
/// Bytes of the target of a request at most.
inline constexpr std::size_t kMaxTarget = 8192;

/// Finds the end of a head in bytes that come in pieces, looking at each byte once. Lines end with
/// CR LF; a bare LF is refused at once, since proxies that disagree about it can be made to
/// disagree about where a request ends (RFC 9112, section 2.2). One thread.
class HeadScanner {
 public:
  enum class Result {
    kNeedMore,
    /// size() bytes are the head, with its empty line.
    kDone,
    /// A line ends with a bare LF.
    kBad,
  };
  /// `input` begins with the head, and has grown only at its end since the last call.
  Result scan(std::string_view input) noexcept;
  std::size_t size() const noexcept { return line_; }
  void reset() noexcept { line_ = searched_ = 0; }

 private:
  std::size_t line_ = 0;
  std::size_t searched_ = 0;
};

/// Methods that the proxy treats in ways of their own.
enum class Method : std::uint8_t { kGet, kHead, kConnect, kTrace, kOptions, kOther };

/// A request without its body. Views into the head.
struct Request {
  Method method = Method::kOther;
  std::string_view method_name;
  /// Path and query, or "*". Of a target in absolute form, what follows its authority: that may be
  /// a query alone, before which root() belongs.
  std::string_view path;
  /// What stands before `path` wherever it is written: "/" where the client has left it out.
  std::string_view root() const noexcept { return path.starts_with('?') ? "/" : ""; }
  /// Host and port as the client wrote them; empty in HTTP/1.0 without a Host field.
  std::string_view host;
  /// Of HTTP/1.x.
  int minor_version = 1;
  Fields fields;
};

/// A response without its body. Views into the head.
struct Response {
  int status = 0;
  int minor_version = 1;
  Fields fields;
};

/// Parses a head that a HeadScanner has found (RFC 9112, sections 3 to 5); of what was in `request`
/// nothing stays. 0, or the status of the
/// answer to what is wrong: 400, 414 (target too long), 431 (too many fields), 505 (not HTTP/1.x).
/// Refused are among others: folded lines, space before a colon, control characters, not exactly
/// one Host in HTTP/1.1.
int parse_request(std::string_view head, Request& request);

/// False when it is no response of HTTP/1.x, or has a line that parse_request() would refuse.
bool parse_response(std::string_view head, Response& response);

}  // namespace proxy
