// SPDX-License-Identifier: MIT
// How a process and the broker of another host prove to each other that they know the secret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "dtutils/shared_secret.hpp"
#include "hosts/wire.hpp"

namespace preload::hosts {

/// A secret has so many bytes at least: who hears a proof may try guesses against it.
inline constexpr std::size_t kShortestSecret = 16;

using dtutils::make_nonce;

/// The secret of some hosts, which proves statements. Any thread.
class Secret {
 public:
  /// Throws dtutils::Error: the text is shorter than kShortestSecret.
  explicit Secret(std::string_view text);

  Proof prove(HandshakeRole role, const Statement& statement) const noexcept;
  bool accepts(HandshakeRole role, const Statement& statement, const Proof& proof) const noexcept;

 private:
  dtutils::SharedSecret secret_;
};

/// From the first line of the file. Throws dtutils::Error: it cannot be read, it belongs to another
/// user, others may read it, the secret is too short.
Secret read_secret(const std::string& file);

}  // namespace preload::hosts
