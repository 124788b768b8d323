// SPDX-License-Identifier: MIT
// cariama-proxy: a caching reverse proxy in front of a web server.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "common/command_line.hpp"
#include "documents.hpp"
#include "dsfabric/config.hpp"
#include "dtutils/error.hpp"
#include "dtutils/tcp.hpp"
#include "proxy/server.hpp"

namespace {

proxy::Commands commands;

void on_stop(int) { commands.stop.store(true, std::memory_order_relaxed); }
void on_reopen(int) { commands.reopen_log.store(true, std::memory_order_relaxed); }

/// Timeouts as the command line has them, in seconds.
struct Seconds {
  std::uint64_t head = 10, idle = 60, client = 30, connect = 5, origin = 30, drain = 10;
};

/// The address with a port that is so much higher; 0 stays any. Throws Error when there is none.
std::string shifted(const std::string& address, std::uint16_t rank) {
  if (rank == 0 || address.empty()) return address;
  const std::string object = fmt::format("listen on {}", address);
  dtutils::HostPort at = dtutils::parse_host_port(object, address);
  if (at.port == 0) return address;
  if (at.port + rank > UINT16_MAX) {
    throw dtutils::Error(object, fmt::format("proxy {0} has no port: it is that port + {0}", rank),
                         "take a lower port");
  }
  at.port = static_cast<std::uint16_t>(at.port + rank);
  return at.text();
}

}  // namespace

int main(int argc, char** argv) try {
  proxy::Options options;
  dsfabric::Config config;
  // The proxy's own thread is no worker; service threads answer the other proxies.
  config.threads = 1;
  // A proxy that is stopped alone does not wait for the others.
  config.leave_timeout = std::chrono::milliseconds(500);
  std::string scheme = "local", sites;
  Seconds seconds;
  std::uint64_t cache_mib = 256, lenders = 0, max_clients = options.max_clients;
  std::uint64_t max_origin = options.max_origin_connections, max_head_kib = options.max_head >> 10;
  std::uint64_t max_body_mib = options.max_request_body >> 20;
  common::CommandLine line{
      "A caching reverse proxy for HTTP/1.1. SIGTERM ends it when all is "
      "answered; SIGHUP opens the access log again."};
  line.option("--listen", options.listen,
              "HOST:PORT for clients; proxy i of a job takes PORT + i; 0 is any free one")
      .option("--metrics", options.metrics, "HOST:PORT of /metrics for Prometheus; default: none")
      .option("--origin", options.origin, "HOST:PORT of the web server")
      .option("--sites", sites,
              "HOST=HOST:PORT,... instead of --origin: requests for each host go to a web server "
              "of its own, others are refused")
      .option("--access-log", options.access_log, "File, or - for the standard output")
      .option("--scheme", scheme,
              "How the proxies of a job share their memory; local: not at all, and without a job",
              {"local", "ac", "bcc", "ccwr", "mtacc", "hybcc"})
      .option("--cache-mib", cache_mib, "MiB of documents; 4095 at most in a job", 1, 1 << 20)
      .option("--lenders", lenders,
              "The last processes of the job that serve nobody and lend their memory to mtacc or "
              "hybcc",
              0, 4093)
      .option("--max-clients", max_clients, "Connections of clients", 1, 1'000'000)
      .option("--max-origin-connections", max_origin, "Connections to a web server", 1, 65'000)
      .option("--max-head-kib", max_head_kib, "KiB of the head of a message", 1, 1024)
      .option("--max-body-mib", max_body_mib, "MiB of the body of a request", 0, 1 << 20)
      .option("--head-timeout", seconds.head, "s for the head of a request", 1, 86'400)
      .option("--idle-timeout", seconds.idle, "s of a connection without requests", 1, 86'400)
      .option("--client-timeout", seconds.client, "s of a client without progress", 1, 86'400)
      .option("--connect-timeout", seconds.connect, "s to reach the web server", 1, 86'400)
      .option("--origin-timeout", seconds.origin, "s of a silent web server", 1, 86'400)
      .option("--drain-timeout", seconds.drain, "s for what is on its way at the end", 0, 86'400);
  if (const auto status = line.parse(argc, argv, config)) return *status;
  const auto time = [](std::uint64_t s) { return std::chrono::seconds(s); };
  options.sites = proxy::parse_sites(sites);
  options.max_clients = max_clients;
  options.max_origin_connections = max_origin;
  options.max_head = max_head_kib << 10;
  options.max_request_body = max_body_mib << 20;
  options.head_timeout = time(seconds.head);
  options.idle_timeout = time(seconds.idle);
  options.client_timeout = time(seconds.client);
  options.connect_timeout = time(seconds.connect);
  options.origin_timeout = time(seconds.origin);
  options.drain_timeout = time(seconds.drain);

  signal(SIGTERM, on_stop);
  signal(SIGINT, on_stop);
  signal(SIGHUP, on_reopen);
  // Who reads the access log from the standard output may go.
  signal(SIGPIPE, SIG_IGN);
  Documents documents(scheme, cache_mib << 20, lenders, options.sites, config);
  options.lends = documents.lends();
  options.listen = shifted(options.listen, documents.rank());
  options.metrics = shifted(options.metrics, documents.rank());
  proxy::Server server(options, documents.store(), documents.placement(), documents.publisher());
  const std::string metrics = server.metrics_port() == 0
                                  ? std::string()
                                  : fmt::format(", metrics on port {}", server.metrics_port());
  if (options.lends) {
    fmt::print("lender {} (process {}) lends {} MiB{}\n", documents.rank(), ::getpid(), cache_mib,
               metrics);
  } else {
    fmt::print("proxy {} (process {}) listens on port {}{}\n", documents.rank(), ::getpid(),
               server.port(), metrics);
  }
  std::fflush(stdout);
  server.run(commands);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "cariama-proxy: {}\n", error.what());
  return EXIT_FAILURE;
}
