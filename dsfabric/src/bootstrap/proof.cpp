// SPDX-License-Identifier: MIT
// Secret: what a greeting says, in bytes.
#include "bootstrap/proof.hpp"

#include "bootstrap/frame.hpp"

namespace dsfabric::rendezvous {
namespace {

Bytes payload_of(const Greeting& greeting) {
  return Writer().u32(kProtocol).u32(greeting.rank).u32(greeting.size).text(greeting.build).take();
}

dtutils::Transcript transcript_of(const Greeting& greeting, std::span<const std::byte> payload) {
  return {"cariama-rendezvous", greeting.process, greeting.launcher, payload};
}

}  // namespace

Proof Secret::prove(HandshakeRole role, const Greeting& greeting) const {
  const Bytes payload = payload_of(greeting);
  return secret_.prove(role, transcript_of(greeting, payload));
}

bool Secret::accepts(HandshakeRole role, const Greeting& greeting,
                     std::span<const std::byte> proof) const {
  const Bytes payload = payload_of(greeting);
  return secret_.accepts(role, transcript_of(greeting, payload), proof);
}

}  // namespace dsfabric::rendezvous
