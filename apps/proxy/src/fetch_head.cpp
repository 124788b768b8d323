// SPDX-License-Identifier: MIT
// What follows from the head of a response: whether it is stored, and who gets it.
#include <algorithm>
#include <utility>

#include "proxy/fetch.hpp"
#include "proxy/forwarding.hpp"
#include "proxy/http_date.hpp"
#include "proxy/text.hpp"
#include "proxy/vary.hpp"

namespace proxy {
namespace {

constexpr std::string_view kRevalidated = "fwd=stale; fwd-status=304";

/// Fields of a document as those of a response.
Response response_with(std::string_view fields, std::string& head) {
  head.assign("HTTP/1.1 200 OK\r\n").append(fields).append("\r\n");
  Response response;
  (void)parse_response(head, response);
  return response;
}

/// It names other fields of requests than those that the stored response was chosen by.
bool varies_otherwise(const Response& not_modified, std::string_view stored) {
  if (!not_modified.fields.has(FieldId::kVary)) return false;
  std::string head;
  return vary_names(not_modified.fields) != vary_names(response_with(stored, head).fields);
}

/// Methods after which a stored response is no longer true (RFC 9111, section 4.4).
bool changes_things(Method method) noexcept { return method == Method::kOther; }

}  // namespace

void Fetch::on_interim(const Response& response) {
  for (Client* const reader : readers_) {
    // Others may be given another response in the end.
    if (reader->held() != request_) continue;
    reader->pass_interim(interim_response(response));
    owner_.schedule(*reader);
  }
}

bool Fetch::on_head(const Response& response, const Framing& framing) {
  in_head_ = true;
  headed_ = true;
  status_ = response.status;
  bool wanted = true;
  if (plan_.stale && status_ == 304) {
    wanted = still_the_same(response);
  } else if (plan_.stale && status_ >= 500 && serve_stale()) {
    wanted = false;
  } else {
    decide(response, framing);
    wanted = begin_readers(framing.kind == Framing::Kind::kNone);
  }
  in_head_ = false;
  if (wanted) return true;
  // Another request may have been sent meanwhile; this connection is of no use for it.
  if (connection_ == nullptr || !headed_) return false;
  connection_ = nullptr;
  ended_ = true;
  owner_.unlist(*this);
  end_if_unused();
  return false;
}

void Fetch::decide(const Response& response, const Framing& framing) {
  const CacheControl told = cache_control_of(response.fields, false);
  const CacheControl asked = cache_control_of(request_->request.fields, true);
  validity_ = validity_of(response, told, requested_, context_.now);
  minor_version_ = response.minor_version;
  fields_ = forwarded_fields(response, context_.now / 1000);
  if (response.fields.has(FieldId::kAge)) age_ = validity_.age(context_.now) / 1000;
  using Kind = Framing::Kind;
  length_.reset();
  if (framing.kind == Kind::kLength) length_ = framing.length;
  if (framing.kind == Kind::kNone && status_ != 204 && status_ != 304) {
    // Of a response to HEAD: what GET would have.
    length_ = parse_decimal(response.fields.first(FieldId::kContentLength));
  } else if (framing.kind == Kind::kNone) {
    length_ = 0;
  }
  etag_ = response.fields.first(FieldId::kETag);
  last_modified_ =
      parse_http_date(response.fields.first(FieldId::kLastModified), context_.now / 1000);
  if (changes_things(request_->request.method)) invalidate_by(response);
  const std::string names = vary_names(response.fields);
  const bool stores = plan_.shared && names != "*" && framing.kind != Kind::kUntilClose &&
                      length_.value_or(0) <= owner_.store().max_document() &&
                      may_store(request_->request, asked, response, told, validity_);
  if (!stores) {
    owner_.unlist(*this);
    if (plan_.stale && status_ < 500) owner_.invalidate(plan_.key);
    for (Client* const other : take_others("*")) {
      // What may not be shared is not waited for again.
      other->alone = true;
      owner_.serve_again(*other);
    }
    return;
  }
  std::string key = plan_.key;
  if (!names.empty()) {
    key = owner_.variant_of(plan_.key, names, request_->request);
    owner_.list(*this, key);
  }
  builder_.emplace(key, status_, fields_, validity_, context_.now, length_.value_or(0));
  builder_->came_in(minor_version_);
  if (names.empty()) return;
  for (Client* const other : take_others(names)) owner_.serve_again(*other);
}

std::vector<Client*> Fetch::take_others(const std::string& names) {
  std::vector<Client*> others;
  const std::string mine = variant_key(plan_.key, 0, names, request_->request.fields);
  for (Client* const reader : readers_) {
    const bool same =
        names != "*" && variant_key(plan_.key, 0, names, reader->request().fields) == mine;
    if (reader->held() != request_ && !same) others.push_back(reader);
  }
  for (Client* const other : others) {
    std::erase(readers_, other);
    other->forget_source();
  }
  return others;
}

ResponseHead Fetch::head_for(bool joined) const {
  ResponseHead head;
  head.status = status_;
  head.minor_version = minor_version_;
  head.fields = fields_;
  head.length = length_;
  head.validators = {etag_, last_modified_};
  head.age = age_;
  head.cache_status = joined ? std::string_view("fwd=miss; collapsed") : plan_.cache_status;
  head.whole = plan_.shared;
  return head;
}

bool Fetch::begin_readers(bool no_body) {
  // Their answers may end at once, and take them away from here.
  const std::vector<Client*> readers = readers_;
  for (Client* const reader : readers) {
    (void)reader->begin(head_for(reader->outcome == Outcome::kCollapsed));
    owner_.schedule(*reader);
  }
  return no_body || builder_ || !readers_.empty();
}

bool Fetch::still_the_same(const Response& response) {
  const DocumentPtr stale = plan_.stale;
  const std::string_view etag = response.fields.first(FieldId::kETag);
  const std::string_view had = stale->validators().etag;
  if ((!etag.empty() && !had.empty() && !identifies(etag, had)) ||
      varies_otherwise(response, stale->fields())) {
    // It is not about this one, or about this one for other requests: ask for all.
    plan_.stale = nullptr;
    headed_ = false;
    ask(true);
    return false;
  }
  const std::string fields = updated_fields(stale->fields(), response, context_.now / 1000);
  std::string head;
  const Response updated = response_with(fields, head);
  const CacheControl told = cache_control_of(updated.fields, false);
  const CacheControl asked = cache_control_of(request_->request.fields, true);
  validity_ = validity_of(updated, told, requested_, context_.now);
  DocumentBuilder builder(stale->key(), stale->head().status, fields, validity_, context_.now,
                          stale->body().size());
  // Its fields came in the 304, or stand beside those that did.
  builder.came_in(response.minor_version);
  builder.append(stale->body());
  const DocumentPtr document = builder.finish();
  if (doomed_ || !may_store(request_->request, asked, updated, told, validity_)) {
    owner_.invalidate(plan_.key);
  } else {
    owner_.store().put(document, plan_.ticket);
  }
  owner_.unlist(*this);
  for (Client* const reader : std::exchange(readers_, {})) {
    reader->forget_source();
    reader->outcome = Outcome::kRevalidated;
    reader->answer(document, kRevalidated);
    owner_.schedule(*reader);
  }
  // The response has no body, and its end follows at once.
  return true;
}

bool Fetch::serve_stale() {
  if (!plan_.stale || !usable_on_error(plan_.stale->head().validity, context_.now)) return false;
  for (Client* const reader : std::exchange(readers_, {})) {
    reader->forget_source();
    reader->outcome = Outcome::kStale;
    reader->answer(plan_.stale, "hit; detail=stale-if-error");
    owner_.schedule(*reader);
  }
  return true;
}

void Fetch::invalidate_by(const Response& response) {
  if (response.status < 200 || response.status >= 400) return;
  owner_.invalidate(plan_.key);
  for (const FieldId id : {FieldId::kLocation, FieldId::kContentLocation}) {
    const std::string key = key_of_reference(response.fields.first(id), plan_.key);
    if (!key.empty()) owner_.invalidate(key);
  }
}

}  // namespace proxy
