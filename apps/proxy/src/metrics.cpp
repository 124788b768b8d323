// SPDX-License-Identifier: MIT
// Writes the counters.
#include "proxy/metrics.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace proxy {
namespace {

constexpr std::array<const char*, kOutcomes> kWords = {"hit",  "neighbour", "stale", "revalidated",
                                                       "miss", "collapsed", "pass",  "local"};

void append_one(std::string& text, const char* name, const char* type, const char* help,
                std::uint64_t value) {
  fmt::format_to(std::back_inserter(text), "# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help,
                 type, value);
}

void append_sites(std::string& text, const Metrics& metrics, std::span<const Site> sites) {
  if (sites.empty()) return;
  text +=
      "# HELP cariama_proxy_site_requests_total Requests for each site.\n"
      "# TYPE cariama_proxy_site_requests_total counter\n";
  for (std::size_t i = 0; i < sites.size(); ++i) {
    fmt::format_to(std::back_inserter(text),
                   "cariama_proxy_site_requests_total{{site=\"{}\"}} {}\n", sites[i].host,
                   metrics.site_requests[i]);
  }
  if (!metrics.site) return;
  text +=
      "# HELP cariama_proxy_site Whether requests of the site are to be sent here.\n"
      "# TYPE cariama_proxy_site gauge\n";
  for (std::size_t i = 0; i < sites.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "cariama_proxy_site{{site=\"{}\"}} {}\n",
                   sites[i].host, metrics.site == i ? 1 : 0);
  }
}

}  // namespace

const char* word_of(Outcome outcome) noexcept { return kWords[static_cast<std::size_t>(outcome)]; }

std::string prometheus_text(const Metrics& metrics, const DocumentStore::Figures& store,
                            std::span<const Site> sites) {
  std::string text =
      "# HELP cariama_proxy_requests_total Requests by how they were answered.\n"
      "# TYPE cariama_proxy_requests_total counter\n";
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    fmt::format_to(std::back_inserter(text), "cariama_proxy_requests_total{{cache=\"{}\"}} {}\n",
                   kWords[i], metrics.requests[i]);
  }
  text +=
      "# HELP cariama_proxy_responses_total Responses by the class of their status.\n"
      "# TYPE cariama_proxy_responses_total counter\n";
  for (int i = 1; i < 6; ++i) {
    fmt::format_to(std::back_inserter(text), "cariama_proxy_responses_total{{class=\"{}xx\"}} {}\n",
                   i, metrics.responses[i]);
  }
  append_one(text, "cariama_proxy_sent_bytes_total", "counter", "Bytes sent to clients.",
             metrics.bytes_to_clients);
  append_one(text, "cariama_proxy_origin_received_bytes_total", "counter",
             "Bytes received from the origin.", metrics.bytes_from_origin);
  append_one(text, "cariama_proxy_origin_requests_total", "counter", "Requests to the origin.",
             metrics.origin_requests);
  append_one(text, "cariama_proxy_origin_failures_total", "counter",
             "Requests to the origin without a whole response.", metrics.origin_failures);
  append_one(text, "cariama_proxy_refused_total", "counter", "Requests that were refused as bad.",
             metrics.refused);
  append_one(text, "cariama_proxy_timeouts_total", "counter", "Clients that took too long.",
             metrics.timeouts);
  append_one(text, "cariama_proxy_evictions_total", "counter", "Documents that made room.",
             store.evictions);
  append_one(text, "cariama_proxy_neighbour_received_bytes_total", "counter",
             "Bytes of documents received from other proxies.", store.neighbour_bytes);
  append_one(text, "cariama_proxy_clients", "gauge", "Connections of clients.", metrics.clients);
  append_one(text, "cariama_proxy_origin_connections", "gauge", "Connections to the origin.",
             metrics.origin_connections);
  append_one(text, "cariama_proxy_documents", "gauge", "Documents in the store.", store.documents);
  append_one(text, "cariama_proxy_store_bytes", "gauge", "Bytes of them.", store.bytes);
  append_one(text, "cariama_proxy_store_limit_bytes", "gauge", "Bytes that the store may have.",
             store.limit);
  append_sites(text, metrics, sites);
  return text;
}

}  // namespace proxy
