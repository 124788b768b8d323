// SPDX-License-Identifier: MIT
// Ages, lifetimes, and what follows from them.
#include "proxy/freshness.hpp"

#include <algorithm>

#include "proxy/http_date.hpp"
#include "proxy/status.hpp"
#include "proxy/text.hpp"

namespace proxy {
namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMaxHeuristic = 24 * 3600 * kSecond;
/// Of the time since the last modification; RFC 9111, section 4.2.2 names a tenth.
constexpr std::int64_t kHeuristicShare = 10;

/// RFC 9110, section 15.1, but for 206.
bool heuristic_status(int status) noexcept {
  constexpr int kStatuses[] = {200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501};
  return std::find(std::begin(kStatuses), std::end(kStatuses), status) != std::end(kStatuses);
}

std::int64_t date_of(const Response& response, std::int64_t received) noexcept {
  const std::int64_t now = received / kSecond;
  return parse_http_date(response.fields.first(FieldId::kDate), now).value_or(now);
}

std::int64_t lifetime_of(const Response& response, const CacheControl& told,
                         std::int64_t received) noexcept {
  if (told.s_maxage) return *told.s_maxage * kSecond;
  if (told.max_age) return *told.max_age * kSecond;
  const std::int64_t now = received / kSecond, date = date_of(response, received);
  if (response.fields.has(FieldId::kExpires)) {
    // What is no date is in the past (section 5.3), and of several the first one holds.
    const auto expires = parse_http_date(response.fields.first(FieldId::kExpires), now);
    return expires ? std::max<std::int64_t>(0, *expires - date) * kSecond : 0;
  }
  if (!heuristic_status(response.status) && !told.is_public) return 0;
  const auto modified = parse_http_date(response.fields.first(FieldId::kLastModified), now);
  if (!modified || *modified >= date) return 0;
  return std::min((date - *modified) * kSecond / kHeuristicShare, kMaxHeuristic);
}

}  // namespace

Validity validity_of(const Response& response, const CacheControl& told, std::int64_t requested,
                     std::int64_t received) noexcept {
  const std::int64_t now = received / kSecond;
  const std::int64_t apparent = std::max<std::int64_t>(0, now - date_of(response, received));
  std::int64_t age = 0;
  if (response.fields.has(FieldId::kAge)) {
    // What is no number, or several of them, is very old.
    const auto seconds = response.fields.count(FieldId::kAge) == 1
                             ? parse_decimal(response.fields.first(FieldId::kAge))
                             : std::nullopt;
    age = seconds ? static_cast<std::int64_t>(
                        std::min<std::uint64_t>(*seconds, static_cast<std::uint64_t>(kMaxSeconds)))
                  : kMaxSeconds;
  }
  const std::int64_t corrected = age * kSecond + (received - requested);
  const auto grace = [](const std::optional<std::int64_t>& seconds) {
    return seconds.value_or(0) * kSecond;
  };
  Validity validity;
  validity.born = received - std::max(apparent * kSecond, corrected);
  validity.lifetime = lifetime_of(response, told, received);
  validity.stale_while_revalidate = grace(told.stale_while_revalidate);
  validity.stale_if_error = grace(told.stale_if_error);
  validity.no_cache = told.no_cache;
  // s-maxage means it too (section 5.2.2.10).
  validity.must_revalidate = told.must_revalidate || told.proxy_revalidate || told.s_maxage;
  return validity;
}

bool may_store(const Request& request, const CacheControl& asked, const Response& response,
               const CacheControl& told, const Validity& validity) noexcept {
  if (request.method != Method::kGet || asked.no_store || told.no_store || told.is_private) {
    return false;
  }
  if (response.status < 200 || response.status == 206 || response.status == 304 ||
      response.fields.has(FieldId::kSetCookie) || response.fields.has(FieldId::kContentRange)) {
    return false;
  }
  if (told.must_understand && reason_of(response.status).empty()) return false;
  if (request.fields.has(FieldId::kAuthorization) && !told.is_public && !told.must_revalidate &&
      !told.s_maxage) {
    return false;  // section 3.5
  }
  const bool stated = told.s_maxage || told.max_age || response.fields.has(FieldId::kExpires) ||
                      told.is_public || heuristic_status(response.status);
  const bool validator =
      response.fields.has(FieldId::kETag) || response.fields.has(FieldId::kLastModified);
  const bool fresh = validity.left(validity.born) > 0 && validity.no_cache == 0;
  return stated && (fresh || (validator && response.status == 200));
}

Use use_of(const Validity& validity, const CacheControl& asked, std::int64_t now) noexcept {
  if (asked.no_cache || validity.no_cache != 0) return Use::kRevalidate;
  const std::int64_t left = validity.left(now);
  if (asked.max_age && validity.age(now) > *asked.max_age * kSecond) return Use::kRevalidate;
  if (asked.min_fresh && left < *asked.min_fresh * kSecond) return Use::kRevalidate;
  if (left > 0) return Use::kServe;
  if (validity.must_revalidate != 0) return Use::kRevalidate;
  if (asked.max_stale && -left <= *asked.max_stale * kSecond) return Use::kServe;
  return -left < validity.stale_while_revalidate ? Use::kServeAndRefresh : Use::kRevalidate;
}

bool usable_on_error(const Validity& validity, std::int64_t now) noexcept {
  return validity.must_revalidate == 0 && validity.no_cache == 0 &&
         -validity.left(now) < validity.stale_if_error;
}

}  // namespace proxy
