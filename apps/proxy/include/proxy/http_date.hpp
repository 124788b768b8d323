// SPDX-License-Identifier: MIT
// Dates as HTTP writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace proxy {

/// Seconds since 1970, from any of the three forms of RFC 9110, section 5.6.7 (IMF-fixdate, RFC
/// 850, asctime). `now` in seconds decides the century of a year of two digits. Nothing for other
/// text.
std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now) noexcept;

/// As "Sun, 06 Nov 1994 08:49:37 GMT".
std::string format_http_date(std::int64_t seconds);

}  // namespace proxy
