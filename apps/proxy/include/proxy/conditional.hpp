// SPDX-License-Identifier: MIT
// Conditional requests and ranges, answered from a stored response.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proxy/fields.hpp"

namespace proxy {

/// By what a stored response is told from others. Seconds since 1970.
struct Validators {
  /// With its quotes, and "W/" of a weak one; empty: none.
  std::string_view etag;
  std::optional<std::int64_t> last_modified;
};

/// A tag that stands for the same bytes or equivalent ones (RFC 9110, section 8.8.3.2).
bool weakly_equal(std::string_view a, std::string_view b) noexcept;
/// Whether a 304 with that tag is about the response with the other one (RFC 9111, section 4.3.4):
/// a strong tag says that the bytes are the same, which a weak one has not said of those here.
bool identifies(std::string_view etag, std::string_view stored) noexcept;

/// The client has what the validators stand for: the answer is 304 (RFC 9110, section 13). A date
/// counts only where no If-None-Match is. `now` in seconds since 1970.
bool not_modified(const Fields& request, const Validators& validators, std::int64_t now) noexcept;

/// The part that a request asks for is a part of the same bytes (RFC 9110, section 13.1.5); true
/// without If-Range. A date never holds, since two versions may have the same one.
bool if_range_holds(const Fields& request, const Validators& validators) noexcept;

/// What a Range field asks for.
struct ByteRange {
  enum class Kind : std::uint8_t {
    /// All: there is no range, it cannot be read, or it asks for several parts.
    kWhole,
    kPart,
    /// Nothing of it exists: 416.
    kNone,
  };
  Kind kind = Kind::kWhole;
  /// Of kPart: the first byte, and the one behind the last.
  std::uint64_t begin = 0, end = 0;
};

/// Of a document of `length` bytes (RFC 9110, section 14.1.2).
ByteRange parse_range(std::string_view value, std::uint64_t length) noexcept;

}  // namespace proxy
