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

using dtutils::make_nonce;
using dtutils::make_secret;
using dtutils::Nonce;
using dtutils::Proof;

/// What one greeting is about. The nonce of the launcher makes it worthless in
/// any other one, and that of the process makes the launcher's answer worthless
/// in any other one.
struct Greeting {
  Nonce launcher;
  Nonce process;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::string_view build;
};

/// Who proves it: the proof of one side is none of the other.
enum class Side : std::uint8_t { kProcess = 1, kLauncher = 2 };

/// The job secret, which proves greetings. Setup only.
class Secret {
 public:
  explicit Secret(std::string_view text) : secret_(text) {}

  Proof prove(Side side, const Greeting& greeting) const;
  /// In a time that does not depend on where they differ. False also for
  /// another number of bytes.
  bool accepts(Side side, const Greeting& greeting,
               std::span<const std::byte> proof) const noexcept;

 private:
  dtutils::SharedSecret secret_;
};

}  // namespace dsfabric::rendezvous
