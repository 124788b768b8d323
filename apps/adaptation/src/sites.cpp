// SPDX-License-Identifier: MIT
// Checks of lists of sites.
#include "adaptation/sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"

namespace adaptation::detail {
namespace {

[[noreturn]] void refuse(const std::string& happened, const std::string& remedy) {
  throw dtutils::Error("list of sites", happened, remedy);
}

}  // namespace

std::uint64_t check(const std::vector<Site>& sites) {
  if (sites.empty() || sites.size() > kMaxSites) {
    refuse(fmt::format("it has {} sites", sites.size()), fmt::format("give 1 to {}", kMaxSites));
  }
  dtutils::Fnv1a digest;
  for (const Site& site : sites) {
    const auto same = [&](const Site& other) { return other.name == site.name; };
    if (std::ranges::count_if(sites, same) != 1) {
      refuse(fmt::format("'{}' is in it twice", site.name), "give each site a name of its own");
    }
    if (site.minimum == 0) {
      refuse(fmt::format("site '{}' may lose all nodes", site.name),
             "set its minimum to 1 or more");
    }
    if (!std::isfinite(site.share) || site.share <= 0) {
      refuse(fmt::format("the share of site '{}' is {}", site.name, site.share),
             "give a number above 0");
    }
    digest.text(site.name).number(site.name.size()).number(site.minimum);
    digest.number(std::bit_cast<std::uint64_t>(site.share));
  }
  return digest.value();
}

}  // namespace adaptation::detail
