// SPDX-License-Identifier: MIT
// What becomes of a request: answered from the store, joined to a fetch, or passed on.
#include <algorithm>
#include <iterator>
#include <utility>

#include "proxy/forwarding.hpp"
#include "proxy/server.hpp"
#include "proxy/text.hpp"
#include "proxy/vary.hpp"

namespace proxy {
namespace {

/// It names fields that are for this connection only. The origin does not see them, so what it
/// answers must not be stored for others who send them.
bool hides_fields(const Fields& fields) noexcept {
  if (!fields.has(FieldId::kConnection)) return false;
  constexpr std::string_view kHarmless[] = {"close", "keep-alive", "te", "upgrade"};
  for (const Field& field : fields) {
    if (field.id != FieldId::kConnection) continue;
    std::string_view rest = field.value, option;
    while (next_element(rest, option)) {
      if (std::none_of(std::begin(kHarmless), std::end(kHarmless),
                       [&](std::string_view each) { return same_text(each, option); })) {
        return true;
      }
    }
  }
  return false;
}

/// Requests that the store is not asked for.
bool goes_past_the_store(const Client& client) noexcept {
  const Request& request = client.request();
  return (request.method != Method::kGet && request.method != Method::kHead) ||
         client.request_body().kind != Framing::Kind::kNone || hides_fields(request.fields) ||
         request.fields.has(FieldId::kIfMatch) || request.fields.has(FieldId::kIfUnmodifiedSince);
}

}  // namespace

void Server::serve(Client& client) {
  const Request& request = client.request();
  if (client.is_admin()) return serve_admin(client);
  if (request.method == Method::kConnect || request.method == Method::kTrace) {
    return client.answer(405, "this method is not served here", "Allow: GET, HEAD\r\n");
  }
  if (forwards_left(request) == 0) {
    return client.answer(200, "", "Allow: GET, HEAD, OPTIONS, POST, PUT, DELETE, PATCH\r\n");
  }
  if (!context_.options.sites.empty()) {
    const auto site = site_of(context_.options.sites, request.host);
    if (!site) return client.answer(421, "no site of this name is served here");
    ++context_.metrics.site_requests[*site];
  }
  if (goes_past_the_store(client)) {
    make_key(request, key_);
    const bool known = request.method == Method::kGet || request.method == Method::kHead;
    return pass(client, known ? "fwd=bypass" : "fwd=method");
  }
  const CacheControl asked = cache_control_of(request.fields, true);
  const bool found = look_up(request);
  if (found) {
    const DocumentPtr document = lookup_.found.document;
    const Use use = use_of(document->head().validity, asked, context_.now);
    if (use != Use::kRevalidate) {
      const bool near = lookup_.found.place == DocumentStore::Place::kHere;
      client.outcome = near ? Outcome::kHit : Outcome::kNeighbour;
      if (use == Use::kServeAndRefresh) {
        client.outcome = Outcome::kStale;
        if (request.method == Method::kGet) refresh(client, document);
      }
      return client.answer(document, near ? "hit" : "hit; detail=neighbour");
    }
  }
  if (asked.only_if_cached) return client.answer(504, "it is not in the cache");
  if (request.method == Method::kHead || asked.no_store || client.alone ||
      (!found && request.fields.has(FieldId::kRange))) {
    return pass(client, "fwd=miss");
  }
  fetch_or_join(client, found ? lookup_.found.document : nullptr, !asked.no_cache);
}

void Server::serve_again(Client& client) {
  serve(client);
  // Nobody else sends what it may have been answered.
  schedule(client);
}

OriginPool& Server::origin_of(const Request& request) noexcept {
  return *origins_[site_of(context_.options.sites, request.host).value_or(0)];
}

bool Server::look_up(const Request& request) {
  make_key(request, key_);
  lookup_.found = documents_.find(key_);
  lookup_.key = key_;
  const DocumentPtr& first = lookup_.found.document;
  if (!first || first->head().kind == DocumentKind::kResponse) return first != nullptr;
  const DocumentStore::Ticket ticket = lookup_.found.ticket;
  lookup_.key = variant_key(key_, first->head().generation, first->body(), request.fields);
  lookup_.found = documents_.find(lookup_.key);
  lookup_.found.ticket = ticket;
  return lookup_.found.document != nullptr;
}

void Server::pass(Client& client, std::string_view cache_status) {
  client.outcome = Outcome::kPass;
  fetch(client, {.key = key_, .stale = nullptr, .cache_status = cache_status}, true);
}

void Server::fetch(Client& client, Fetch::Plan plan, bool waits) {
  const bool shared = plan.shared;
  FetchOwner& owner = *this;
  auto owned = std::make_unique<Fetch>(context_, owner, client.hold(), client.address(),
                                       client.request_body(), std::move(plan));
  Fetch& fetch = *owned;
  fetches_.emplace(&fetch, std::move(owned));
  if (shared) list(fetch, lookup_.key);
  fetch.start(waits ? &client : nullptr);
}

void Server::refresh(Client& client, DocumentPtr stale) {
  if (listed_.contains(lookup_.key)) return;
  fetch(client,
        {.key = key_, .shared = true, .stale = std::move(stale), .ticket = lookup_.found.ticket},
        false);
}

void Server::fetch_or_join(Client& client, DocumentPtr stale, bool may_join) {
  const auto listed = listed_.find(lookup_.key);
  // An invalidation by another proxy comes to the store alone, and shows in its tickets.
  if (may_join && listed != listed_.end() && listed->second->may_join() &&
      listed->second->ticket() == lookup_.found.ticket) {
    client.outcome = Outcome::kCollapsed;
    return listed->second->join(client);
  }
  client.outcome = Outcome::kMiss;
  const char* const status = stale ? "fwd=stale" : "fwd=miss";
  fetch(client,
        {.key = key_,
         .shared = true,
         .stale = std::move(stale),
         .ticket = lookup_.found.ticket,
         .cache_status = status},
        true);
}

std::string Server::variant_of(const std::string& key, std::string_view names,
                               const Request& request) {
  const DocumentStore::Found known = documents_.find(key);
  if (known.document && known.document->head().kind == DocumentKind::kVariants &&
      known.document->body() == names) {
    return variant_key(key, known.document->head().generation, names, request.fields);
  }
  const std::uint64_t generation = random_();
  documents_.put(DocumentBuilder::variants(key, names, generation), known.ticket);
  return variant_key(key, generation, names, request.fields);
}

void Server::invalidate(const std::string& key) {
  documents_.erase(key);
  for (const auto& [fetch, owned] : fetches_) {
    if (fetch->key() != key) continue;
    fetch->doom();
    unlist(*fetch);
  }
}

void Server::serve_admin(Client& client) {
  const Request& request = client.request();
  if (request.path != "/metrics") return client.answer(404, "there is only /metrics");
  if (request.method != Method::kGet && request.method != Method::kHead) {
    return client.answer(405, "this is only read", "Allow: GET, HEAD\r\n");
  }
  client.answer(200,
                prometheus_text(context_.metrics, documents_.figures(), context_.options.sites),
                "Content-Type: text/plain; version=0.0.4\r\n");
}

}  // namespace proxy
