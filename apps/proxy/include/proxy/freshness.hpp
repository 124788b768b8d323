// SPDX-License-Identifier: MIT
// RFC 9111 as functions: what may be stored, how long it is fresh, and when it may be used.
#pragma once

#include <cstdint>

#include "proxy/cache_control.hpp"
#include "proxy/message.hpp"

namespace proxy {

/// Until when a stored response may be used. Milliseconds; points of time since 1970. Part of a
/// stored document, so of fixed widths.
struct Validity {
  /// When its age was 0, by our clock (RFC 9111, section 4.2.3).
  std::int64_t born = 0;
  /// How old it may become (section 4.2.1).
  std::int64_t lifetime = 0;
  /// How long after that it may be used while it is fetched anew (RFC 5861, section 3).
  std::int64_t stale_while_revalidate = 0;
  /// How long after that it may be used when the origin fails (RFC 5861, section 4).
  std::int64_t stale_if_error = 0;
  /// It is never used without asking the origin.
  std::uint32_t no_cache = 0;
  /// It is never used when it is stale.
  std::uint32_t must_revalidate = 0;

  std::int64_t age(std::int64_t now) const noexcept { return now > born ? now - born : 0; }
  /// Negative when it is stale, by how much.
  std::int64_t left(std::int64_t now) const noexcept { return lifetime - age(now); }
};

/// What the fields of a response say. It was asked for at `requested`, and its head came at
/// `received`. Without s-maxage, max-age and Expires a tenth of the time since Last-Modified, at
/// most a day, for statuses where that is allowed (section 4.2.2).
Validity validity_of(const Response& response, const CacheControl& told, std::int64_t requested,
                     std::int64_t received) noexcept;

/// A shared cache may keep the response to this GET request (section 3), and it is of use: it is
/// fresh for a while, or can be validated. Responses with Set-Cookie are not kept, whatever else
/// they say; nor are parts (206).
bool may_store(const Request& request, const CacheControl& asked, const Response& response,
               const CacheControl& told, const Validity& validity) noexcept;

/// What to do with a stored response.
enum class Use : std::uint8_t {
  kServe,
  /// Serve it, and fetch it anew meanwhile.
  kServeAndRefresh,
  /// Ask the origin first.
  kRevalidate,
};

/// For a request with these directives (sections 4.2.4 and 5.2.1).
Use use_of(const Validity& validity, const CacheControl& asked, std::int64_t now) noexcept;

/// It may be used although the origin has failed.
bool usable_on_error(const Validity& validity, std::int64_t now) noexcept;

}  // namespace proxy
