// SPDX-License-Identifier: MIT
// Directives of Cache-Control, of requests and of responses.
#pragma once

#include <cstdint>
#include <optional>

#include "proxy/fields.hpp"

namespace proxy {

/// The directives that the proxy acts on (RFC 9111, section 5.2; RFC 5861). Seconds.
struct CacheControl {
  bool no_store = false;
  /// Also with names of fields, which is the safe reading of it.
  bool no_cache = false;
  bool is_private = false;
  bool is_public = false;
  bool must_revalidate = false;
  bool proxy_revalidate = false;
  bool only_if_cached = false;
  bool must_understand = false;
  std::optional<std::int64_t> max_age;
  std::optional<std::int64_t> s_maxage;
  std::optional<std::int64_t> min_fresh;
  /// Without a number: any.
  std::optional<std::int64_t> max_stale;
  std::optional<std::int64_t> stale_while_revalidate;
  std::optional<std::int64_t> stale_if_error;
};

/// Numbers are at most this; what does not fit into 31 bits is as much (RFC 9111, section 1.2.2).
inline constexpr std::int64_t kMaxSeconds = 2147483648;

/// The directives of all Cache-Control fields; `Pragma: no-cache` counts in a request that has none
/// of them. Of a directive that comes twice the smaller number holds, and a number that cannot be
/// read is 0.
CacheControl cache_control_of(const Fields& fields, bool of_request) noexcept;

}  // namespace proxy
