// SPDX-License-Identifier: MIT
// Visits at brokers.
#include "host_visits.hpp"

#include "dtutils/error.hpp"
#include "hosts/knock.hpp"
#include "hosts/settings.hpp"
#include "kernel_socket.hpp"

namespace preload {
namespace {

/// How long a host is left alone where there is no broker that knows the secret, or whose device
/// this one does not reach.
constexpr std::chrono::seconds kAvoidance{30};

}  // namespace

HostVisits::Result HostVisits::visit(const Request& request, dtutils::ProtectionDomain& domain) {
  const auto now = Request::Clock::now();
  std::erase_if(avoided_, [&](const auto& each) { return each.second <= now; });
  const std::string host = host_of(request.peer);
  if (avoided_.contains(host)) return {Outcome::kNone, nullptr};
  const hosts::Visit found = hosts::knock(*hosts::between_hosts(), request.peer, request.name);
  if (found.socket >= 0) {
    keep_alive(found.socket);
    try {
      return {Outcome::kStream,
              streams::connect_over(domain, found.socket, kMeeting, request.options)};
    } catch (const dtutils::Error&) {
    }
  } else if (found.answered) {
    return {Outcome::kLater, nullptr};
  }
  avoided_[host] = Request::Clock::now() + kAvoidance;
  return {Outcome::kNone, nullptr};
}

}  // namespace preload
