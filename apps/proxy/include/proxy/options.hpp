// SPDX-License-Identifier: MIT
// What can be set, and what everything of one proxy uses.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proxy/access_log.hpp"
#include "proxy/metrics.hpp"
#include "proxy/poller.hpp"
#include "proxy/sites.hpp"

namespace proxy {

/// Limits and timeouts of a proxy.
struct Options {
  /// HOST:PORT; port 0 is any free one.
  std::string listen = "127.0.0.1:8080";
  /// No clients are served: `listen` is not used.
  bool lends = false;
  /// Where /metrics is; empty: nowhere.
  std::string metrics;
  /// Of all requests, where there are no `sites`.
  std::string origin = "127.0.0.1:80";
  /// Requests that are for none of them are refused.
  std::vector<Site> sites;
  /// "-" is the standard output; empty: none.
  std::string access_log;
  std::size_t max_clients = 20'000;
  /// Connections to an origin at once; a request that would need one more is answered with 503.
  std::size_t max_origin_connections = 512;
  /// Bytes of the head of a request or a response.
  std::size_t max_head = 32 << 10;
  /// Bytes of the body of a request.
  std::uint64_t max_request_body = 1 << 30;
  /// Of a client, from the first byte of a head to its last.
  std::chrono::milliseconds head_timeout{10'000};
  /// Of a connection that is open and has nothing to do.
  std::chrono::milliseconds idle_timeout{60'000};
  /// Of a client that sends its body, or takes a response, without any progress.
  std::chrono::milliseconds client_timeout{30'000};
  std::chrono::milliseconds connect_timeout{5'000};
  /// Of the origin: for the head of its response, and between two parts of a body.
  std::chrono::milliseconds origin_timeout{30'000};
  /// Of what is still on its way when the proxy is told to stop.
  std::chrono::milliseconds drain_timeout{10'000};
};

/// What the parts of one proxy share. Owner thread only.
struct Context {
  explicit Context(const Options& chosen);

  const Options options;
  Poller poller;
  Metrics metrics;
  AccessLog log;
  /// Milliseconds since 1970, of this turn of the loop.
  std::int64_t now = 0;
  /// Milliseconds of a clock that is never set.
  std::int64_t steady = 0;
  /// The proxy ends as soon as it can.
  bool draining = false;
  /// What is read from a socket passes through here.
  std::vector<char> buffer;

  /// Reads both clocks.
  void look_at_clocks() noexcept;
};

}  // namespace proxy
