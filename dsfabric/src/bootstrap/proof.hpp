// SPDX-License-Identifier: MIT
// How a process and the launcher prove to each other that they know the job
// secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dtutils/shared_secret.hpp"

namespace dsfabric::rendezvous {

using dtutils::HandshakeRole;
using dtutils::make_nonce;
using dtutils::make_secret;
using dtutils::Nonce;
using dtutils::Proof;

/// What one greeting is about. The process is its initiator, the launcher its responder.
struct Greeting {
  Nonce launcher;
  Nonce process;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::string_view build;
};

/// The job secret, which proves greetings. Setup only.
class Secret {
 public:
  explicit Secret(std::string_view text) : secret_(text) {}

  Proof prove(HandshakeRole role, const Greeting& greeting) const;
  /// As SharedSecret::accepts.
  bool accepts(HandshakeRole role, const Greeting& greeting,
               std::span<const std::byte> proof) const;

 private:
  dtutils::SharedSecret secret_;
};

}  // namespace dsfabric::rendezvous
