// SPDX-License-Identifier: MIT
// Reads the directives one by one.
#include "proxy/cache_control.hpp"

#include <algorithm>
#include <string_view>

#include "proxy/text.hpp"

namespace proxy {
namespace {

struct Flag {
  std::string_view name;
  bool CacheControl::*member;
};

struct Number {
  std::string_view name;
  std::optional<std::int64_t> CacheControl::*member;
};

constexpr Flag kFlags[] = {
    {"no-store", &CacheControl::no_store},
    {"no-cache", &CacheControl::no_cache},
    {"private", &CacheControl::is_private},
    {"public", &CacheControl::is_public},
    {"must-revalidate", &CacheControl::must_revalidate},
    {"proxy-revalidate", &CacheControl::proxy_revalidate},
    {"only-if-cached", &CacheControl::only_if_cached},
    {"must-understand", &CacheControl::must_understand},
};

constexpr Number kNumbers[] = {
    {"max-age", &CacheControl::max_age},
    {"s-maxage", &CacheControl::s_maxage},
    {"min-fresh", &CacheControl::min_fresh},
    {"max-stale", &CacheControl::max_stale},
    {"stale-while-revalidate", &CacheControl::stale_while_revalidate},
    {"stale-if-error", &CacheControl::stale_if_error},
};

std::int64_t seconds_of(std::string_view text) noexcept {
  text = unquote(text);
  const bool digits =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits) return 0;
  const auto number = parse_decimal(text);
  if (!number || *number > static_cast<std::uint64_t>(kMaxSeconds)) return kMaxSeconds;
  return static_cast<std::int64_t>(*number);
}

void read_directive(std::string_view directive, CacheControl& control) noexcept {
  const std::size_t equals = directive.find('=');
  const std::string_view name = trim(directive.substr(0, equals));
  for (const Flag& flag : kFlags) {
    if (same_text(flag.name, name)) control.*flag.member = true;
  }
  for (const Number& number : kNumbers) {
    if (!same_text(number.name, name)) continue;
    std::optional<std::int64_t>& member = control.*number.member;
    const bool any = equals == std::string_view::npos && number.member == &CacheControl::max_stale;
    const std::int64_t value =
        any ? kMaxSeconds
            : seconds_of(equals == std::string_view::npos ? std::string_view{}
                                                          : trim(directive.substr(equals + 1)));
    member = member ? std::min(*member, value) : value;
  }
}

}  // namespace

CacheControl cache_control_of(const Fields& fields, bool of_request) noexcept {
  CacheControl control;
  if (fields.has(FieldId::kCacheControl)) {
    for (const Field& field : fields) {
      if (field.id != FieldId::kCacheControl) continue;
      std::string_view rest = field.value, directive;
      while (next_element(rest, directive)) read_directive(directive, control);
    }
  } else if (of_request && fields.has(FieldId::kPragma)) {
    control.no_cache = same_text(fields.first(FieldId::kPragma), "no-cache");
  }
  return control;
}

}  // namespace proxy
