// SPDX-License-Identifier: MIT
// Settings in environment variables.
#include "hosts/settings.hpp"

#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>

#include "dtutils/parse_number.hpp"

namespace preload::hosts {
namespace {

std::optional<Settings> read_settings() noexcept {
  const char* const file = std::getenv("CARIAMA_PRELOAD_SECRET_FILE");
  if (file == nullptr || *file == '\0') return std::nullopt;
  try {
    const char* const device = std::getenv("CARIAMA_PRELOAD_DEVICE");
    const char* const port = std::getenv("CARIAMA_PRELOAD_BROKER_PORT");
    const char* const local = std::getenv("CARIAMA_PRELOAD_LOCAL");
    Settings settings{read_secret(file), device == nullptr ? "auto" : device,
                      port == nullptr ? kBrokerPort : port_from(port),
                      local != nullptr && std::string_view(local) == "remote"};
    if (settings.port == 0) return std::nullopt;
    return settings;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

const Settings* between_hosts() noexcept {
  // Never destroyed: threads of the library go on while the process ends.
  static const auto& settings = *new std::optional<Settings>(read_settings());
  return settings ? &*settings : nullptr;
}

std::uint16_t port_from(const char* text) noexcept {
  return dtutils::parse_number<std::uint16_t>(text).value_or(0);
}

}  // namespace preload::hosts
