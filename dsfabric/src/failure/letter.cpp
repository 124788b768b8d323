// SPDX-License-Identifier: MIT
// Letters: how they begin, and those that need no handshake.
#include "failure/letter.hpp"

#include <exception>

namespace dsfabric {

ByteWriter letter_of(LetterKind kind) {
  ByteWriter letter;
  letter.value(kind);
  return letter;
}

void send_end(SharedBootstrap& bootstrap, std::uint32_t to, std::uint64_t state,
              std::string_view reason) noexcept try {
  if (!bootstrap.relays()) return;
  ByteWriter letter = letter_of(LetterKind::kEnd);
  letter.value(state);
  letter.text(reason);
  bootstrap.send(to, letter.bytes());
} catch (const std::exception&) {
  // There is no memory: those who are not connected hear of the end when the process has ended.
}

}  // namespace dsfabric
