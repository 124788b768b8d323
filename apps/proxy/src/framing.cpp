// SPDX-License-Identifier: MIT
// Length, chunked, or neither; never two of them.
#include "proxy/framing.hpp"

#include "proxy/text.hpp"

namespace proxy {
namespace {

/// The framing that the fields state: 0, 400 or 501. kNone when they state none.
int stated(const Fields& fields, int minor_version, Framing& framing) noexcept {
  framing = {};
  const bool coded = fields.has(FieldId::kTransferEncoding);
  if (coded) {
    if (fields.has(FieldId::kContentLength) || minor_version == 0 ||
        fields.count(FieldId::kTransferEncoding) != 1) {
      return 400;
    }
    if (!same_text(fields.first(FieldId::kTransferEncoding), "chunked")) return 501;
    framing.kind = Framing::Kind::kChunked;
    return 0;
  }
  if (!fields.has(FieldId::kContentLength)) return 0;
  const auto length = parse_decimal(fields.first(FieldId::kContentLength));
  if (fields.count(FieldId::kContentLength) != 1 || !length) return 400;
  framing = {Framing::Kind::kLength, *length};
  return 0;
}

}  // namespace

int request_framing(const Request& request, Framing& framing) noexcept {
  const int status = stated(request.fields, request.minor_version, framing);
  if (framing.kind == Framing::Kind::kLength && framing.length == 0) {
    framing.kind = Framing::Kind::kNone;
  }
  return status;
}

bool response_framing(const Response& response, bool to_head, Framing& framing) noexcept {
  if (to_head || response.status < 200 || response.status == 204 || response.status == 304) {
    framing = {};
    return true;
  }
  if (stated(response.fields, response.minor_version, framing) != 0) return false;
  if (framing.kind == Framing::Kind::kNone) framing.kind = Framing::Kind::kUntilClose;
  return true;
}

bool keeps_alive(const Fields& fields, int minor_version) noexcept {
  bool keep = minor_version >= 1;
  if (!fields.has(FieldId::kConnection)) return keep;
  for (const Field& field : fields) {
    if (field.id != FieldId::kConnection) continue;
    std::string_view rest = field.value, option;
    while (next_element(rest, option)) {
      if (same_text(option, "close")) return false;
      if (same_text(option, "keep-alive")) keep = true;
    }
  }
  return keep;
}

}  // namespace proxy
