// SPDX-License-Identifier: MIT
// The parser of heads. What is not plainly right is refused.
#include "proxy/message.hpp"

#include <algorithm>
#include <cstring>

#include "proxy/text.hpp"

namespace proxy {
namespace {

/// Takes a line off the head. Its scanner has seen that all lines end with CR LF.
std::string_view take_line(std::string_view& head) noexcept {
  const std::size_t end = head.find('\n');
  const std::string_view line = head.substr(0, end - 1);
  head.remove_prefix(end + 1);
  return line;
}

/// 0, 400 or 431.
int parse_fields(std::string_view rest, Fields& fields) {
  for (;;) {
    const std::string_view line = take_line(rest);
    if (line.empty()) return 0;
    const std::size_t colon = line.find(':');
    // A folded line begins with a space, which no name has.
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return 400;
    const std::string_view value = trim(line.substr(colon + 1));
    if (!is_field_value(value)) return 400;
    if (fields.size() == kMaxFields) return 431;
    const std::string_view name = line.substr(0, colon);
    fields.add(field_id(name), name, value);
  }
}

/// The digit behind "HTTP/1."; -1 for another version, -2 for what is no version.
int minor_version_of(std::string_view text) noexcept {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 8 || text.substr(0, 5) != "HTTP/" || !digit(text[5]) || text[6] != '.' ||
      !digit(text[7])) {
    return -2;
  }
  return text[5] == '1' ? text[7] - '0' : -1;
}

Method method_of(std::string_view name) noexcept {
  if (name == "GET") return Method::kGet;
  if (name == "HEAD") return Method::kHead;
  if (name == "CONNECT") return Method::kConnect;
  if (name == "TRACE") return Method::kTrace;
  if (name == "OPTIONS") return Method::kOptions;
  return Method::kOther;
}

bool is_host(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const char l = lower(c);
    return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~:[]%").find(c) != std::string_view::npos;
  });
}

/// Visible ASCII, and no fragment.
bool is_target(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
}

/// Splits the target; false when it has none of the forms of RFC 9112, section 3.2.
bool split_target(std::string_view target, Request& request) noexcept {
  constexpr std::string_view kScheme = "http://";
  if (target.front() == '/' || (target == "*" && request.method == Method::kOptions) ||
      request.method == Method::kConnect) {
    request.path = target;
    return true;
  }
  if (target.size() <= kScheme.size() || !same_text(target.substr(0, kScheme.size()), kScheme)) {
    return false;
  }
  target.remove_prefix(kScheme.size());
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  request.host = target.substr(0, end);
  request.path = target.substr(end);
  if (request.path.empty()) request.path = request.method == Method::kOptions ? "*" : "/";
  return !request.host.empty();
}

}  // namespace

HeadScanner::Result HeadScanner::scan(std::string_view input) noexcept {
  while (searched_ < input.size()) {
    const void* const found = std::memchr(input.data() + searched_, '\n', input.size() - searched_);
    if (found == nullptr) {
      searched_ = input.size();
      break;
    }
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - input.data());
    if (at == line_ || input[at - 1] != '\r') return Result::kBad;
    const bool empty = at - line_ == 1;
    line_ = searched_ = at + 1;
    if (empty) return Result::kDone;
  }
  return Result::kNeedMore;
}

int parse_request(std::string_view head, Request& request) {
  // What is refused keeps nothing of the request before, whose bytes may be gone.
  request.fields.clear();
  request.method = Method::kOther;
  request.method_name = request.path = request.host = {};
  request.minor_version = 1;
  const std::string_view line = take_line(head);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return 400;
  request.method_name = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(request.method_name) || !is_target(target)) return 400;
  const int version = minor_version_of(line.substr(last + 1));
  if (version < 0) return version == -1 ? 505 : 400;
  if (target.size() > kMaxTarget) return 414;
  request.minor_version = version;
  request.method = method_of(request.method_name);
  if (!split_target(target, request)) return 400;
  if (const int status = parse_fields(head, request.fields); status != 0) return status;
  const std::size_t hosts = request.fields.count(FieldId::kHost);
  if (hosts > 1 || (hosts == 0 && version >= 1)) return 400;
  const std::string_view host = request.fields.first(FieldId::kHost);
  if (!is_host(host)) return 400;
  if (request.host.empty()) request.host = host;
  return is_host(request.host) ? 0 : 400;
}

bool parse_response(std::string_view head, Response& response) {
  response.fields.clear();
  const std::string_view line = take_line(head);
  // "HTTP/1.1 200 OK"; the reason may be empty, and some leave out the space before it.
  if (line.size() < 12 || line[8] != ' ' || (line.size() > 12 && line[12] != ' ')) return false;
  const int version = minor_version_of(line.substr(0, 8));
  const auto status = parse_decimal(line.substr(9, 3));
  if (version < 0 || !status || *status < 100 || *status > 599 || !is_field_value(line)) {
    return false;
  }
  response.minor_version = version;
  response.status = static_cast<int>(*status);
  return parse_fields(head, response.fields) == 0;
}

}  // namespace proxy
