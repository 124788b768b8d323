// SPDX-License-Identifier: MIT
// Visits at brokers.
#include "host_visits.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "dtutils/error.hpp"
#include "hosts/knock.hpp"
#include "hosts/settings.hpp"
#include "kernel_socket.hpp"

namespace preload {
namespace {

/// How long a host is left alone after the first visit in vain: there is no broker that knows the
/// secret, or the device does not reach it, or all are busy. Twice as long after each further one.
constexpr Request::Clock::duration kAvoidance = std::chrono::seconds(1);
constexpr Request::Clock::duration kLongestAvoidance = std::chrono::seconds(64);
/// Hosts that are remembered.
constexpr std::size_t kRemembered = 1024;

}  // namespace

HostVisits::Result HostVisits::visit(const Request& request, dtutils::ProtectionDomain& domain) {
  const std::string host = host_of(request.peer);
  const auto known = avoided_.find(host);
  if (known != avoided_.end() && Request::Clock::now() < known->second.until) {
    return {Outcome::kNone, nullptr};
  }
  const hosts::Visit found = hosts::knock(*hosts::between_hosts(), request.peer, request.name);
  if (found.socket >= 0) {
    keep_alive(found.socket);
    try {
      auto stream = streams::connect_over(domain, found.socket, kMeeting, request.options);
      avoided_.erase(host);
      return {Outcome::kStream, std::move(stream)};
    } catch (const dtutils::Error&) {
    }
  } else if (found.answered) {
    return {Outcome::kLater, nullptr};
  }
  if (avoided_.size() >= kRemembered) avoided_.clear();
  Avoided& failed = avoided_.try_emplace(host, Avoided{{}, kAvoidance}).first->second;
  failed.until = Request::Clock::now() + failed.next;
  failed.next = std::min(2 * failed.next, kLongestAvoidance);
  return {Outcome::kNone, nullptr};
}

}  // namespace preload
