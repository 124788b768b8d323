// SPDX-License-Identifier: MIT
// Whether and how this process has streams to other hosts.
#pragma once

#include <cstdint>
#include <string>

#include "hosts/secret.hpp"

namespace preload::hosts {

/// Of the broker, unless the user chose another one.
inline constexpr std::uint16_t kBrokerPort = 18519;

/// What scripts/stream --between-hosts says in the environment.
struct Settings {
  /// CARIAMA_PRELOAD_SECRET_FILE.
  Secret secret;
  /// CARIAMA_PRELOAD_DEVICE: as dtutils::open_device takes it; "auto" by default.
  std::string device;
  /// CARIAMA_PRELOAD_BROKER_PORT: the same on all hosts.
  std::uint16_t port;
  /// CARIAMA_PRELOAD_LOCAL=remote: addresses of this host are taken for those of another one. For
  /// tests.
  bool local_as_remote;
};

/// nullptr without a secret file, or with one that cannot be used. The first call, which should
/// come before the program begins, reads it; it stays as it is then. Any thread.
const Settings* between_hosts() noexcept;

/// The port that the text names; 0: none. Any thread.
std::uint16_t port_from(const char* text) noexcept;

}  // namespace preload::hosts
