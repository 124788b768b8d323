// SPDX-License-Identifier: MIT
// The web sites that a proxy is in front of, each with a web server of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace proxy {

/// A web site.
struct Site {
  /// What requests for it have as Host, without a port.
  std::string host;
  /// HOST:PORT of its web server.
  std::string origin;
};

/// Sites at the most.
inline constexpr std::size_t kMaxSites = 64;

/// "shop.example=127.0.0.1:81,news.example=127.0.0.1:82"; empty: none. Throws dtutils::Error for
/// what is no such list, and for a host that is there twice. Setup only.
std::vector<Site> parse_sites(std::string_view text);

/// The number of the site that a request with this Host is for, whatever its port and the case of
/// its letters; nothing when it is for none of them.
std::optional<std::size_t> site_of(std::span<const Site> sites, std::string_view host) noexcept;

}  // namespace proxy
