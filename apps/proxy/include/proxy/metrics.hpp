// SPDX-License-Identifier: MIT
// Counters of the proxy, and their text for Prometheus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proxy/document_store.hpp"
#include "proxy/sites.hpp"

namespace proxy {

/// How a request was answered.
enum class Outcome : std::uint8_t {
  /// From the store of this process.
  kHit,
  /// From another node.
  kNeighbour,
  /// From the store, though stale: while it is fetched anew, or because the origin fails.
  kStale,
  /// Stale, and the origin has said that it is still the same.
  kRevalidated,
  kMiss,
  /// It waited for the response that another request had asked for.
  kCollapsed,
  /// Passed on without looking into the store.
  kPass,
  /// The proxy itself: errors.
  kLocal,
};
inline constexpr std::size_t kOutcomes = 8;

/// Owner thread only.
struct Metrics {
  std::uint64_t requests[kOutcomes] = {};
  /// By the first digit of the status.
  std::uint64_t responses[6] = {};
  std::uint64_t bytes_to_clients = 0;
  std::uint64_t bytes_from_origin = 0;
  std::uint64_t origin_requests = 0;
  std::uint64_t origin_failures = 0;
  std::uint64_t refused = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t clients = 0;
  std::uint64_t origin_connections = 0;
  /// By the number of the site.
  std::vector<std::uint64_t> site_requests;
  /// The number of the one that the proxy is for; nothing where nobody decides that.
  std::optional<std::size_t> site;
};

/// The word for an outcome in the access log and in metrics.
const char* word_of(Outcome outcome) noexcept;

/// All of it in the text format of Prometheus, version 0.0.4.
std::string prometheus_text(const Metrics& metrics, const DocumentStore::Figures& store,
                            std::span<const Site> sites);

}  // namespace proxy
