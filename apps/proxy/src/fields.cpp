// SPDX-License-Identifier: MIT
// Finds names by their length first.
#include "proxy/fields.hpp"

#include <algorithm>

#include "proxy/text.hpp"

namespace proxy {
namespace {

struct Name {
  FieldId id;
  std::string_view text;
};

// By length, so that a name is compared with few others.
constexpr Name k2[] = {{FieldId::kTe, "te"}};
constexpr Name k3[] = {{FieldId::kAge, "age"}, {FieldId::kVia, "via"}};
constexpr Name k4[] = {{FieldId::kHost, "host"},
                       {FieldId::kDate, "date"},
                       {FieldId::kETag, "etag"},
                       {FieldId::kVary, "vary"}};
constexpr Name k5[] = {{FieldId::kRange, "range"}};
constexpr Name k6[] = {{FieldId::kExpect, "expect"}, {FieldId::kPragma, "pragma"}};
constexpr Name k7[] = {{FieldId::kReferer, "referer"},
                       {FieldId::kExpires, "expires"},
                       {FieldId::kTrailer, "trailer"},
                       {FieldId::kUpgrade, "upgrade"}};
constexpr Name k8[] = {{FieldId::kIfMatch, "if-match"},
                       {FieldId::kIfRange, "if-range"},
                       {FieldId::kLocation, "location"}};
constexpr Name k10[] = {{FieldId::kConnection, "connection"},
                        {FieldId::kUserAgent, "user-agent"},
                        {FieldId::kSetCookie, "set-cookie"},
                        {FieldId::kKeepAlive, "keep-alive"}};
constexpr Name k12[] = {{FieldId::kMaxForwards, "max-forwards"}};
constexpr Name k13[] = {{FieldId::kCacheControl, "cache-control"},
                        {FieldId::kIfNoneMatch, "if-none-match"},
                        {FieldId::kAuthorization, "authorization"},
                        {FieldId::kLastModified, "last-modified"},
                        {FieldId::kContentRange, "content-range"}};
constexpr Name k14[] = {{FieldId::kContentLength, "content-length"}};
constexpr Name k15[] = {{FieldId::kXForwardedFor, "x-forwarded-for"}};
constexpr Name k16[] = {{FieldId::kContentLocation, "content-location"},
                        {FieldId::kProxyConnection, "proxy-connection"}};
constexpr Name k17[] = {{FieldId::kIfModifiedSince, "if-modified-since"},
                        {FieldId::kTransferEncoding, "transfer-encoding"}};
constexpr Name k19[] = {{FieldId::kIfUnmodifiedSince, "if-unmodified-since"}};

template <std::size_t kCount>
FieldId among(const Name (&names)[kCount], std::string_view name) noexcept {
  for (const Name& each : names) {
    if (same_text(each.text, name)) return each.id;
  }
  return FieldId::kOther;
}

}  // namespace

FieldId field_id(std::string_view name) noexcept {
  switch (name.size()) {
    case 2:
      return among(k2, name);
    case 3:
      return among(k3, name);
    case 4:
      return among(k4, name);
    case 5:
      return among(k5, name);
    case 6:
      return among(k6, name);
    case 7:
      return among(k7, name);
    case 8:
      return among(k8, name);
    case 10:
      return among(k10, name);
    case 12:
      return among(k12, name);
    case 13:
      return among(k13, name);
    case 14:
      return among(k14, name);
    case 15:
      return among(k15, name);
    case 16:
      return among(k16, name);
    case 17:
      return among(k17, name);
    case 19:
      return among(k19, name);
    default:
      return FieldId::kOther;
  }
}

void Fields::clear() noexcept {
  fields_.clear();
  present_ = 0;
}

void Fields::add(FieldId id, std::string_view name, std::string_view value) {
  fields_.push_back({id, name, value});
  present_ |= std::uint64_t{1} << static_cast<unsigned>(id);
}

std::string_view Fields::first(FieldId id) const noexcept {
  if (!has(id)) return {};
  return std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.id == id; })
      ->value;
}

std::size_t Fields::count(FieldId id) const noexcept {
  if (!has(id)) return 0;
  return static_cast<std::size_t>(
      std::count_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.id == id; }));
}

}  // namespace proxy
