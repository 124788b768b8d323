// SPDX-License-Identifier: MIT
// The side of a connection that goes to another host for its stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "request.hpp"
#include "streams/streams.hpp"

namespace preload {

/// Goes to brokers, and remembers hosts where none is that it can use. One thread.
class HostVisits {
 public:
  /// What becomes of the request now.
  enum class Outcome : std::uint8_t { kStream, kNone, kLater };
  struct Result {
    Outcome outcome;
    std::unique_ptr<streams::Stream> stream;
  };

  /// Asks once, as between_hosts says. kLater: the other side may offer its stream soon. It waits.
  Result visit(const Request& request, dtutils::ProtectionDomain& domain);

 private:
  /// A host where the last visit failed.
  struct Avoided {
    Request::Clock::time_point until{};
    Request::Clock::duration next;
  };
  std::map<std::string, Avoided> avoided_;
};

}  // namespace preload
