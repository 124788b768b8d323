// SPDX-License-Identifier: MIT
// Puts whole documents into a caching::Cache, and takes them out without copying.
#include "proxy/caching_store.hpp"

#include <chrono>
#include <span>
#include <utility>

namespace proxy {
namespace {

/// A key of the proxy as the cache has it: what the request names, and the variant, which
/// variant_key() has put behind a line feed.
struct SplitKey {
  explicit SplitKey(std::string_view whole)
      : key(whole.substr(0, whole.find('\n'))), variant(whole.substr(key.size())) {}
  std::string_view key;
  std::string_view variant;
};

caching::Time expiry_of(const DocumentHead& head) noexcept {
  // How variants are told apart is never out of date; a change invalidates it.
  if (head.kind == DocumentKind::kVariants) return caching::Time::max();
  return caching::Time(std::chrono::milliseconds(head.validity.born + head.validity.lifetime));
}

}  // namespace

DocumentStore::Found CachingStore::find(std::string_view key) {
  const SplitKey split(key);
  caching::Document got = cache_.get(split.key, split.variant);
  Found found;
  found.ticket = got.ticket() == caching::kNoTicket ? next_unknown_++ : got.ticket().epoch;
  if (!got) return found;
  const bool here = got.source() == caching::Source::kHere;
  const auto held = std::make_shared<const caching::Document>(std::move(got));
  const auto body = held->body();
  found.document = Document::from_bytes(
      std::string_view(reinterpret_cast<const char*>(body.data()), body.size()), held, key);
  if (found.document) found.place = here ? Place::kHere : Place::kNeighbour;
  return found;
}

void CachingStore::put(DocumentPtr document, Ticket ticket) {
  if (ticket >= kUnknown) return;
  const SplitKey split(document->key());
  caching::Attributes attributes;
  attributes.expires = expiry_of(document->head());
  attributes.validator = document->validators().etag;
  // What is not kept is fetched again.
  (void)cache_.put(split.key, split.variant, attributes,
                   std::as_bytes(std::span(document->bytes())), caching::Ticket{ticket});
}

void CachingStore::erase(std::string_view key) {
  // A proxy that cannot be asked though it lives may serve an old version until that expires.
  (void)cache_.invalidate(SplitKey(key).key);
}

DocumentStore::Figures CachingStore::figures() const noexcept {
  const caching::Counters counters = cache_.counters();
  return {.documents = counters.documents,
          .bytes = counters.bytes,
          .limit = cache_.options().bytes,
          .evictions = counters.evicted,
          .neighbour_bytes = counters.neighbour_bytes};
}

}  // namespace proxy
