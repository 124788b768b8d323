// SPDX-License-Identifier: MIT
// The secret and the environment of a job; the connections are those of bootstrap/server.hpp.
#include "dsfabric/rendezvous_server.hpp"

#include <fmt/format.h>

#include "bootstrap/environment.hpp"
#include "bootstrap/proof.hpp"
#include "bootstrap/server.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

std::uint32_t checked(std::uint32_t processes, std::uint32_t capacity) {
  if (capacity == 0 || (capacity >= processes && capacity <= 65'535)) return capacity;
  throw dtutils::Error(
      "rendezvous",
      fmt::format("an elastic job of {} processes cannot be for {} in the course of its life",
                  processes, capacity),
      fmt::format("give a number from {} to 65535", processes));
}

}  // namespace

RendezvousServer::RendezvousServer(std::uint32_t processes, const std::string& address,
                                   std::uint16_t port, std::uint32_t capacity)
    : processes_(processes),
      capacity_(checked(processes, capacity)),
      secret_(rendezvous::make_secret()),
      server_(std::make_unique<rendezvous::Server>(processes, secret_, address, port, capacity)),
      address_(address.find(':') == std::string::npos
                   ? fmt::format("{}:{}", address, server_->port())
                   : fmt::format("[{}]:{}", address, server_->port())) {}

RendezvousServer::~RendezvousServer() = default;

std::vector<std::string> RendezvousServer::environment(std::uint32_t rank) const {
  std::vector<std::string> all{fmt::format("{}={}", rendezvous::kAddressVariable, address_),
                               fmt::format("{}={}", rendezvous::kRankVariable, rank),
                               fmt::format("{}={}", rendezvous::kSizeVariable, processes_)};
  if (capacity_ != 0) all.push_back(fmt::format("{}={}", rendezvous::kElasticVariable, capacity_));
  return all;
}

std::vector<std::string> RendezvousServer::newcomer_environment(const std::string& address) {
  return {fmt::format("{}={}", rendezvous::kAddressVariable, address),
          fmt::format("{}={}", rendezvous::kRankVariable, rendezvous::kNewcomerRank)};
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

std::uint32_t RendezvousServer::members() const noexcept { return server_->members(); }

}  // namespace dsfabric
