// SPDX-License-Identifier: MIT
// Compares validators and dates, and reads ranges.
#include "proxy/conditional.hpp"

#include <algorithm>

#include "proxy/http_date.hpp"
#include "proxy/text.hpp"

namespace proxy {
namespace {

constexpr std::string_view kWeak = "W/";

std::string_view opaque(std::string_view tag) noexcept {
  return tag.substr(0, kWeak.size()) == kWeak ? tag.substr(kWeak.size()) : tag;
}

bool any_matches(const Fields& request, std::string_view etag) noexcept {
  for (const Field& field : request) {
    if (field.id != FieldId::kIfNoneMatch) continue;
    std::string_view rest = field.value, tag;
    while (next_element(rest, tag)) {
      if (tag == "*" || weakly_equal(tag, etag)) return true;
    }
  }
  return false;
}

}  // namespace

bool weakly_equal(std::string_view a, std::string_view b) noexcept {
  return !a.empty() && opaque(a) == opaque(b);
}

bool identifies(std::string_view etag, std::string_view stored) noexcept {
  const bool weak = etag.substr(0, kWeak.size()) == kWeak;
  return weak ? weakly_equal(etag, stored) : etag == stored;
}

bool not_modified(const Fields& request, const Validators& validators, std::int64_t now) noexcept {
  if (request.has(FieldId::kIfNoneMatch)) return any_matches(request, validators.etag);
  if (!request.has(FieldId::kIfModifiedSince) || !validators.last_modified) return false;
  const auto since = parse_http_date(request.first(FieldId::kIfModifiedSince), now);
  return since && *since >= *validators.last_modified;
}

bool if_range_holds(const Fields& request, const Validators& validators) noexcept {
  if (!request.has(FieldId::kIfRange)) return true;
  const std::string_view value = request.first(FieldId::kIfRange);
  return value.substr(0, 1) == "\"" && value == validators.etag;
}

ByteRange parse_range(std::string_view value, std::uint64_t length) noexcept {
  constexpr std::string_view kUnit = "bytes=";
  if (!same_text(value.substr(0, kUnit.size()), kUnit)) return {};
  const std::string_view spec = trim(value.substr(kUnit.size()));
  const std::size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view from = spec.substr(0, dash), to = spec.substr(dash + 1);
  const auto first = parse_decimal(from), last = parse_decimal(to);
  using Kind = ByteRange::Kind;
  if (from.empty()) {
    if (!last) return {};
    if (*last == 0 || length == 0) return {.kind = Kind::kNone};
    return {Kind::kPart, length - std::min(*last, length), length};
  }
  if (!first || (!to.empty() && !last) || (last && *last < *first)) return {};
  if (*first >= length) return {.kind = Kind::kNone};
  return {Kind::kPart, *first, last ? std::min(*last, length - 1) + 1 : length};
}

}  // namespace proxy
