// SPDX-License-Identifier: MIT
// Writes responses: heads by the conditions and the range of the request, bodies as they come.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "proxy/client.hpp"
#include "proxy/forwarding.hpp"
#include "proxy/http_date.hpp"
#include "proxy/status.hpp"
#include "proxy/text.hpp"

namespace proxy {
namespace {

/// A part of a document is copied up to this size; that is cheaper than one more piece to send.
constexpr std::size_t kCopied = 8 << 10;

}  // namespace

void Client::begin_status(int status) {
  begun_ = true;
  status_ = status;
  sent_body_ = 0;
  chunked_ = false;
  // The rest of the request would have to be read first.
  if (upload_open()) keep_alive_ = false;
  append_status_line(output_.text(), status);
}

void Client::append_length(std::uint64_t length) {
  output_.append("Content-Length: ");
  append_decimal(output_.text(), length);
  output_.append("\r\n");
}

void Client::append_date() {
  output_.append("Date: ");
  output_.append(format_http_date(context_.now / 1000));
  output_.append("\r\n");
}

void Client::end_head(std::string_view cache_status, std::optional<std::int64_t> age,
                      int minor_version) {
  std::string& text = output_.text();
  if (age) {
    text.append("Age: ");
    append_decimal(text, static_cast<std::uint64_t>(*age));
    text.append("\r\n");
  }
  text.append("Via: ").append(via(minor_version)).append("\r\nCache-Status: cariama; ");
  text.append(cache_status).append("\r\n");
  if (context_.draining) keep_alive_ = false;
  if (!keep_alive_) {
    text.append("Connection: close\r\n");
  } else if (request().minor_version == 0) {
    text.append("Connection: keep-alive\r\n");
  }
  text.append("\r\n");
}

void Client::answer(int status, std::string_view text, std::string_view more_fields) {
  begin_status(status);
  const bool plain = more_fields.find("Content-Type") == std::string_view::npos;
  append_date();
  if (plain) output_.append("Content-Type: text/plain\r\n");
  output_.append(more_fields);
  append_length(text.size());
  // This proxy has made it.
  end_head("fwd=bypass; detail=local", std::nullopt, 1);
  if (request().method != Method::kHead) {
    output_.append(text);
    sent_body_ = text.size();
  }
  finish();
}

void Client::answer(const DocumentPtr& document, std::string_view cache_status) {
  ResponseHead head;
  head.status = document->head().status;
  head.minor_version = static_cast<int>(document->head().minor_version);
  head.fields = document->fields();
  head.length = document->body().size();
  head.validators = document->validators();
  head.age = document->head().validity.age(context_.now) / 1000;
  head.cache_status = cache_status;
  head.whole = true;
  if (!begin(head)) return;
  const std::string_view part = document->body().substr(offset_, end_ - offset_);
  if (part.size() > kCopied) {
    output_.share(document, part);
  } else {
    output_.append(part);
  }
  sent_body_ = part.size();
  finish();
}

bool Client::begin_not_modified(const ResponseHead& head) {
  begin_status(304);
  append_fields_of_304(output_.text(), head.fields);
  end_head(head.cache_status, head.age, head.minor_version);
  finish();
  return false;
}

bool Client::begin_unsatisfiable(const ResponseHead& head) {
  begin_status(416);
  append_date();
  output_.append(fmt::format("Content-Range: bytes */{}\r\n", *head.length));
  append_length(0);
  end_head(head.cache_status, std::nullopt, head.minor_version);
  finish();
  return false;
}

void Client::pass_interim(std::string_view response) {
  if (begun_ || request().minor_version == 0) return;
  output_.append(response);
}

bool Client::begin(const ResponseHead& head) {
  const Request& asked = request();
  const Fields& fields = asked.fields;
  ByteRange range;
  if (head.whole && head.status == 200) {
    if (not_modified(fields, head.validators, context_.now / 1000)) return begin_not_modified(head);
    if (asked.method == Method::kGet && fields.has(FieldId::kRange) && head.length &&
        if_range_holds(fields, head.validators)) {
      range = parse_range(fields.first(FieldId::kRange), *head.length);
    }
    if (range.kind == ByteRange::Kind::kNone) return begin_unsatisfiable(head);
  }
  const bool part = range.kind == ByteRange::Kind::kPart;
  const bool no_body = asked.method == Method::kHead || head.status == 204 || head.status == 304;
  begin_status(part ? 206 : head.status);
  output_.append(head.fields);
  offset_ = part ? range.begin : 0;
  end_ = part ? range.end : head.length.value_or(UINT64_MAX);
  if (part) {
    fmt::format_to(std::back_inserter(output_.text()), "Content-Range: bytes {}-{}/{}\r\n", offset_,
                   end_ - 1, *head.length);
  }
  if (head.length && head.status != 204 && head.status != 304) append_length(end_ - offset_);
  if (!head.length && !no_body) {
    chunked_ = asked.minor_version >= 1;
    if (chunked_) {
      output_.append("Transfer-Encoding: chunked\r\n");
    } else {
      keep_alive_ = false;
    }
  }
  end_head(head.cache_status, head.age, head.minor_version);
  if (no_body) finish();
  return !no_body;
}

void Client::pump() {
  if (source_ == nullptr || !begun_) return;
  bool moved = false;
  while (output_.pending() < kEnoughPending) {
    std::string_view bytes = source_->body_from(offset_);
    bytes = bytes.substr(0, std::min<std::uint64_t>(bytes.size(), end_ - offset_));
    DocumentPtr document = source_->document();
    if (!document) bytes = bytes.substr(0, kEnoughPending - output_.pending());
    if (bytes.empty()) break;
    if (chunked_) fmt::format_to(std::back_inserter(output_.text()), "{:x}\r\n", bytes.size());
    if (document && bytes.size() > kCopied) {
      output_.share(std::move(document), bytes);
    } else {
      output_.append(bytes);
    }
    if (chunked_) output_.append("\r\n");
    offset_ += bytes.size();
    sent_body_ += bytes.size();
    moved = true;
  }
  if (offset_ == end_ || (source_->ended() && source_->body_from(offset_).empty())) {
    if (chunked_) output_.append("0\r\n\r\n");
    finish();
  } else if (moved) {
    source_->consumed();
  }
}

void Client::finish() {
  ++context_.metrics.requests[static_cast<std::size_t>(outcome)];
  ++context_.metrics.responses[status_ / 100];
  if (context_.log.enabled()) {
    context_.log.add({address_, request(), status_, sent_body_, outcome, context_.steady - began_},
                     context_.now);
  }
  if (source_ != nullptr) std::exchange(source_, nullptr)->leave(*this);
  held_.reset();
  state_ = keep_alive_ ? State::kHead : State::kClosing;
}

}  // namespace proxy
