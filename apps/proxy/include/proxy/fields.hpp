// SPDX-License-Identifier: MIT
// The fields of a message: names that the proxy knows by number, values as they came.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace proxy {

/// Names that the proxy acts on. All others are kOther.
enum class FieldId : std::uint8_t {
  kOther,
  kAge,
  kAuthorization,
  kCacheControl,
  kConnection,
  kContentLength,
  kContentLocation,
  kContentRange,
  kDate,
  kETag,
  kExpect,
  kExpires,
  kHost,
  kIfMatch,
  kIfModifiedSince,
  kIfNoneMatch,
  kIfRange,
  kIfUnmodifiedSince,
  kKeepAlive,
  kLastModified,
  kLocation,
  kMaxForwards,
  kPragma,
  kProxyConnection,
  kRange,
  kReferer,
  kSetCookie,
  kTe,
  kTrailer,
  kTransferEncoding,
  kUpgrade,
  kUserAgent,
  kVary,
  kVia,
  kXForwardedFor,
};

/// The number of a name, in any case of letters.
FieldId field_id(std::string_view name) noexcept;

/// One field line. Views into the head that it was parsed from.
struct Field {
  FieldId id;
  std::string_view name;
  std::string_view value;
};

/// The field lines of a message, in their order. One thread.
class Fields {
 public:
  void clear() noexcept;
  void add(FieldId id, std::string_view name, std::string_view value);

  /// There is one, at least, of that number (not kOther).
  bool has(FieldId id) const noexcept { return (present_ >> static_cast<unsigned>(id) & 1) != 0; }
  /// The value of the first one; empty when there is none.
  std::string_view first(FieldId id) const noexcept;
  /// How many there are.
  std::size_t count(FieldId id) const noexcept;
  std::size_t size() const noexcept { return fields_.size(); }
  auto begin() const noexcept { return fields_.begin(); }
  auto end() const noexcept { return fields_.end(); }

 private:
  std::vector<Field> fields_;
  std::uint64_t present_ = 0;
};

}  // namespace proxy
