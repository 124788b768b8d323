// SPDX-License-Identifier: MIT
// The secret and the environment of a job; the connections are those of bootstrap/server.hpp.
#include "dsfabric/rendezvous_server.hpp"

#include <fmt/format.h>

#include "bootstrap/environment.hpp"
#include "bootstrap/proof.hpp"
#include "bootstrap/server.hpp"

namespace dsfabric {

RendezvousServer::RendezvousServer(std::uint32_t processes, const std::string& address,
                                   std::uint16_t port)
    : processes_(processes),
      secret_(rendezvous::make_secret()),
      server_(std::make_unique<rendezvous::Server>(processes, secret_, address, port)),
      address_(address.find(':') == std::string::npos
                   ? fmt::format("{}:{}", address, server_->port())
                   : fmt::format("[{}]:{}", address, server_->port())) {}

RendezvousServer::~RendezvousServer() = default;

std::vector<std::string> RendezvousServer::environment(std::uint32_t rank) const {
  return {fmt::format("{}={}", rendezvous::kAddressVariable, address_),
          fmt::format("{}={}", rendezvous::kRankVariable, rank),
          fmt::format("{}={}", rendezvous::kSizeVariable, processes_)};
}

void RendezvousServer::watch(std::vector<pollfd>& into) const { server_->watch(into); }

std::optional<std::chrono::steady_clock::time_point> RendezvousServer::next_deadline() const {
  return server_->next_deadline();
}

void RendezvousServer::handle(const std::vector<pollfd>& ready) { server_->handle(ready); }

void RendezvousServer::process_ended(std::uint32_t rank, bool in_order) {
  server_->process_ended(rank, in_order);
}

std::vector<std::uint32_t> RendezvousServer::not_joined() const { return server_->not_joined(); }

}  // namespace dsfabric
