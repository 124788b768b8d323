// SPDX-License-Identifier: MIT
// Secret: what a greeting says, in bytes.
#include "bootstrap/proof.hpp"

#include "bootstrap/frame.hpp"

namespace dsfabric::rendezvous {
namespace {

Bytes message(Side side, const Greeting& greeting) {
  return Writer()
      .u32(kProtocol)
      .u32(static_cast<std::uint32_t>(side))
      .bytes(greeting.launcher)
      .bytes(greeting.process)
      .u32(greeting.rank)
      .u32(greeting.size)
      .text(greeting.build)
      .take();
}

}  // namespace

Proof Secret::prove(Side side, const Greeting& greeting) const {
  return secret_.prove(message(side, greeting));
}

bool Secret::accepts(Side side, const Greeting& greeting,
                     std::span<const std::byte> proof) const noexcept {
  return secret_.accepts(message(side, greeting), proof);
}

}  // namespace dsfabric::rendezvous
