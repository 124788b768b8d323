// SPDX-License-Identifier: MIT
// Reads lists of sites, and finds the one that a request is for.
#include "proxy/sites.hpp"

#include "dtutils/error.hpp"
#include "proxy/text.hpp"

namespace proxy {
namespace {

/// Without the port; what stands in brackets is an address of IPv6.
std::string_view without_port(std::string_view host) noexcept {
  if (host.substr(0, 1) == "[") return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

std::vector<Site> parse_sites(std::string_view text) {
  std::vector<Site> sites;
  std::string_view element;
  const auto wrong = [&](std::string_view why) {
    return dtutils::Error(element, why, "write HOST=HOST:PORT for each site, with commas between");
  };
  while (next_element(text, element)) {
    const std::size_t equals = element.find('=');
    if (equals == std::string_view::npos || equals == 0) throw wrong("it is no site");
    const std::string_view host = element.substr(0, equals);
    for (const char c : host) {
      if (c <= ' ' || c == '"' || c == '\\' || c == 0x7f) throw wrong("the host is no host");
    }
    if (without_port(host) != host) throw wrong("the host of the site has a port");
    if (site_of(sites, host)) throw wrong("there is another site with this host");
    if (sites.size() == kMaxSites) throw wrong("there are too many sites before it");
    sites.push_back({std::string(host), std::string(element.substr(equals + 1))});
  }
  return sites;
}

std::optional<std::size_t> site_of(std::span<const Site> sites, std::string_view host) noexcept {
  const std::string_view name = without_port(host);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (same_text(sites[i].host, name)) return i;
  }
  return std::nullopt;
}

}  // namespace proxy
