// SPDX-License-Identifier: MIT
// A day on which the unit tests of the proxy take place.
#pragma once

#include <cstdint>

namespace proxy_test {

/// Seconds since 1970: 2026-11-25.
inline constexpr std::int64_t kToday = 1'795'600'000;
/// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
inline constexpr std::int64_t kThen = 784'111'777;

}  // namespace proxy_test
