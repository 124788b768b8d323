// SPDX-License-Identifier: MIT
// Listeners of streams, and offers to the broker.
#include "waiting.hpp"

#include "dtutils/error.hpp"
#include "kernel_socket.hpp"
#include "request.hpp"

namespace preload {

WaitingHere::WaitingHere(dtutils::ProtectionDomain& domain, const std::string& name,
                         const streams::StreamOptions& options)
    : listener_(domain, name, options) {}

std::unique_ptr<streams::Stream> WaitingHere::accept() {
  return listener_.accept(std::chrono::milliseconds(0));
}

WaitingForHost::WaitingForHost(dtutils::ProtectionDomain& domain, const std::string& name,
                               const streams::StreamOptions& options)
    : domain_(domain), options_(options), offer_(name) {}

std::unique_ptr<streams::Stream> WaitingForHost::accept() {
  const int visitor = offer_.take();
  if (visitor < 0) return nullptr;
  keep_alive(visitor);
  try {
    return streams::accept_over(domain_, visitor, kMeeting, options_);
  } catch (const dtutils::Error&) {
    return nullptr;  // It left, or will find another device.
  }
}

}  // namespace preload
