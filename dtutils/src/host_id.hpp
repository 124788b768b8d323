// SPDX-License-Identifier: MIT
// A number that tells hosts apart, so that a device knows which peers share its memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace dtutils {

/// The same value in every process of this host and PID namespace, another one elsewhere: a hash of
/// the boot id (proc(5)) and of the PID namespace (namespaces(7)). Throws Error when /proc is not
/// mounted. Setup only.
std::uint64_t host_id();

/// FNV-1a over the bytes of `text`, starting from `hash`.
constexpr std::uint64_t fnv1a(std::string_view text,
                              std::uint64_t hash = 0xcbf29ce484222325) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace dtutils
