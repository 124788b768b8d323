// SPDX-License-Identifier: MIT
// Wire format: what processes tell each other by letters of the bootstrap.
#pragma once

#include <cstdint>
#include <string_view>

#include "bootstrap/shared_bootstrap.hpp"
#include "job/bytes.hpp"

namespace dsfabric {

/// The first byte of a letter.
enum class LetterKind : std::uint8_t {
  /// Where the peer tells its end, where the block of the sender's collectives is, and the
  /// endpoints of the queue pairs that the sender has made for the peer.
  kOffer = 1,
  /// The sender has connected those queue pairs with what the peer has offered.
  kReady = 2,
  /// As an EndNotice: state, reason.
  kEnd = 3,
  /// Of a closing (closings.hpp): the number of the sender's farewell. kKeep has none.
  kClose = 4,
  kClosed = 5,
  kKeep = 6,
};

/// A letter of that kind, to which the rest is added. Setup only.
ByteWriter letter_of(LetterKind kind);

/// Sends a letter of kind kEnd to a process, or to all others where `to` is
/// SharedBootstrap::capacity(); no letter where the bootstrap carries none. Any thread.
void send_end(SharedBootstrap& bootstrap, std::uint32_t to, std::uint64_t state,
              std::string_view reason) noexcept;

}  // namespace dsfabric
