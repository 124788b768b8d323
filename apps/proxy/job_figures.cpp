// SPDX-License-Identifier: MIT
// Names of the figures.
#include "job_figures.hpp"

#include <chrono>
#include <string>

namespace {

/// The figures of the node, for people.
constexpr std::chrono::seconds kInterval{1};

}  // namespace

JobFigures::JobFigures(dsfabric::Fabric& fabric)
    : board_(fabric),
      clients_(board_.counter("proxy.clients", "", monitoring::Kind::kLevel)),
      sent_(board_.counter("proxy.sent", "B")),
      asked_(board_.counter("origin.requests")),
      received_(board_.counter("origin.received", "B")),
      documents_(board_.counter("cache.documents", "", monitoring::Kind::kLevel)),
      bytes_(board_.counter("cache.bytes", "B", monitoring::Kind::kLevel)),
      evicted_(board_.counter("cache.evicted")),
      from_neighbours_(board_.counter("cache.neighbour", "B")),
      sampler_(fabric, kInterval),
      reporter_(fabric) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const char* const word = proxy::word_of(static_cast<proxy::Outcome>(i));
    requests_[i] = board_.counter(std::string("proxy.") + word);
  }
}

void JobFigures::publish(const proxy::Metrics& metrics,
                         const proxy::DocumentStore::Figures& store) {
  for (std::size_t i = 0; i < requests_.size(); ++i) requests_[i]->set(metrics.requests[i]);
  clients_.set(metrics.clients);
  sent_.set(metrics.bytes_to_clients);
  asked_.set(metrics.origin_requests);
  received_.set(metrics.bytes_from_origin);
  documents_.set(store.documents);
  bytes_.set(store.bytes);
  evicted_.set(store.evictions);
  from_neighbours_.set(store.neighbour_bytes);
}
