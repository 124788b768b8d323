// SPDX-License-Identifier: MIT
// Filters field lines, and writes heads.
#include "proxy/forwarding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "proxy/http_date.hpp"
#include "proxy/status.hpp"
#include "proxy/text.hpp"

namespace proxy {
namespace {

template <typename... Ids>
constexpr std::uint64_t set_of(Ids... ids) noexcept {
  return ((std::uint64_t{1} << static_cast<unsigned>(ids)) | ...);
}

constexpr bool contains(std::uint64_t set, FieldId id) noexcept {
  return (set >> static_cast<unsigned>(id) & 1) != 0;
}

constexpr std::uint64_t kOneConnection =
    set_of(FieldId::kConnection, FieldId::kKeepAlive, FieldId::kProxyConnection, FieldId::kTe,
           FieldId::kTrailer, FieldId::kTransferEncoding, FieldId::kUpgrade);
constexpr std::uint64_t kConditions =
    set_of(FieldId::kIfMatch, FieldId::kIfModifiedSince, FieldId::kIfNoneMatch, FieldId::kIfRange,
           FieldId::kIfUnmodifiedSince, FieldId::kRange);
/// Written anew for a request.
constexpr std::uint64_t kOfRequest =
    set_of(FieldId::kHost, FieldId::kContentLength, FieldId::kExpect, FieldId::kVia,
           FieldId::kXForwardedFor);
constexpr std::uint64_t kOfOptions = set_of(FieldId::kMaxForwards);
constexpr std::uint64_t kOfResponse = set_of(FieldId::kContentLength, FieldId::kAge);
/// What a 304 does not replace: these describe the body that is stored.
constexpr std::string_view kOfBody[] = {"content-length", "content-encoding", "content-type",
                                        "content-range", "content-md5"};
constexpr std::string_view kOf304[] = {
    "cache-control", "content-location", "date", "etag", "expires", "vary", "last-modified"};

void append_line(std::string& text, std::string_view name, std::string_view value) {
  text.append(name).append(": ").append(value).append("\r\n");
}

/// Names that the Connection fields say are for one connection.
std::vector<std::string_view> named_by_connection(const Fields& fields) {
  std::vector<std::string_view> names;
  if (!fields.has(FieldId::kConnection)) return names;
  for (const Field& field : fields) {
    if (field.id != FieldId::kConnection) continue;
    std::string_view rest = field.value, name;
    while (next_element(rest, name)) names.push_back(name);
  }
  return names;
}

void append_fields(std::string& text, const Fields& fields, std::uint64_t dropped) {
  const std::vector<std::string_view> named = named_by_connection(fields);
  for (const Field& field : fields) {
    const bool one_connection = std::any_of(named.begin(), named.end(), [&](std::string_view name) {
      return same_text(name, field.name);
    });
    if (!one_connection && !contains(dropped | kOneConnection, field.id)) {
      append_line(text, field.name, field.value);
    }
  }
}

/// All values of that field, and one more, as one line.
void append_with(std::string& text, std::string_view name, const Fields& fields, FieldId id,
                 std::string_view last) {
  text.append(name).append(": ");
  for (const Field& field : fields) {
    if (field.id == id) text.append(field.value).append(", ");
  }
  text.append(last).append("\r\n");
}

bool any_of_names(std::string_view name, const std::string_view* begin, std::size_t count) {
  return std::any_of(begin, begin + count,
                     [&](std::string_view each) { return same_text(each, name); });
}

/// Calls `use(name, line)` for each field line; a line with its end.
template <typename Use>
void for_each_line(std::string_view fields, Use use) {
  while (!fields.empty()) {
    const std::size_t end = fields.find("\r\n") + 2;
    const std::string_view line = fields.substr(0, end);
    use(line.substr(0, line.find(':')), line);
    fields.remove_prefix(end);
  }
}

}  // namespace

std::optional<std::uint64_t> forwards_left(const Request& request) noexcept {
  if (request.method != Method::kOptions) return std::nullopt;
  return parse_decimal(request.fields.first(FieldId::kMaxForwards));
}

std::string interim_response(const Response& response) {
  std::string text;
  append_status_line(text, response.status);
  append_fields(text, response.fields, kOfResponse);
  return text.append("\r\n");
}

std::string forwarded_fields(const Response& response, std::int64_t now) {
  std::string text;
  append_fields(text, response.fields, kOfResponse);
  if (!response.fields.has(FieldId::kDate)) append_line(text, "Date", format_http_date(now));
  return text;
}

std::string updated_fields(std::string_view stored, const Response& not_modified,
                           std::int64_t now) {
  const std::string fresh = forwarded_fields(not_modified, now);
  std::vector<std::string_view> replaced;
  std::string text;
  for_each_line(fresh, [&](std::string_view name, std::string_view line) {
    if (any_of_names(name, kOfBody, std::size(kOfBody))) return;
    replaced.push_back(name);
    text.append(line);
  });
  for_each_line(stored, [&](std::string_view name, std::string_view line) {
    if (!any_of_names(name, replaced.data(), replaced.size())) text.append(line);
  });
  return text;
}

void append_fields_of_304(std::string& text, std::string_view stored) {
  for_each_line(stored, [&](std::string_view name, std::string_view line) {
    if (any_of_names(name, kOf304, std::size(kOf304))) text.append(line);
  });
}

std::string via(int minor_version) { return fmt::format("1.{} {}", minor_version, kProxyName); }

std::string origin_request(const Request& request, const ForwardOptions& options) {
  std::string text;
  text.append(request.method_name).append(" ").append(request.root()).append(request.path);
  text.append(" HTTP/1.1\r\n");
  append_line(text, "Host", request.host.empty() ? options.default_host : request.host);
  const auto forwards = forwards_left(request);
  append_fields(text, request.fields,
                kOfRequest | (options.whole ? kConditions : 0) | (forwards ? kOfOptions : 0));
  if (forwards) append_line(text, "Max-Forwards", std::to_string(*forwards - 1));
  if (options.validate != nullptr) {
    const Validators validators = options.validate->validators();
    if (!validators.etag.empty()) append_line(text, "If-None-Match", validators.etag);
    if (validators.last_modified) {
      append_line(text, "If-Modified-Since", format_http_date(*validators.last_modified));
    }
  }
  if (options.body.kind == Framing::Kind::kLength) {
    append_line(text, "Content-Length", std::to_string(options.body.length));
  } else if (options.body.kind == Framing::Kind::kChunked) {
    append_line(text, "Transfer-Encoding", "chunked");
  } else if (request.fields.has(FieldId::kContentLength)) {
    append_line(text, "Content-Length", "0");
  }
  append_with(text, "X-Forwarded-For", request.fields, FieldId::kXForwardedFor,
              options.client_address);
  append_with(text, "Via", request.fields, FieldId::kVia, via(request.minor_version));
  return text.append("\r\n");
}

}  // namespace proxy
