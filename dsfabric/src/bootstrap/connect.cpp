// SPDX-License-Identifier: MIT
// Finding the launcher by its address.
#include "bootstrap/connect.hpp"

#include <fmt/format.h>

#include "bootstrap/environment.hpp"
#include "dtutils/tcp.hpp"

namespace dsfabric::rendezvous {

std::unique_ptr<Mailbox> connect_to(const std::string& address,
                                    std::chrono::steady_clock::time_point by) {
  const auto to =
      dtutils::parse_host_port(fmt::format("{} \"{}\"", kAddressVariable, address), address);
  const int socket = dtutils::connect_tcp(fmt::format("launcher at {}", address), to, by);
  return std::make_unique<Mailbox>(std::make_unique<Connection>(socket));
}

}  // namespace dsfabric::rendezvous
