// SPDX-License-Identifier: MIT
// Says how busy this proxy is, decides, and follows.
#include "site_placement.hpp"

#include <chrono>

namespace {

std::vector<adaptation::Site> sites_of(const std::vector<proxy::Site>& sites) {
  std::vector<adaptation::Site> all;
  for (const proxy::Site& site : sites) all.push_back({.name = site.host});
  return all;
}

adaptation::SiteId first_of(const dsfabric::Fabric& fabric, std::size_t sites) {
  return {static_cast<std::uint8_t>(fabric.process().value % sites)};
}

adaptation::DeciderOptions decider_options() {
  adaptation::DeciderOptions options;
  // Until those who spread the requests have seen a move, loads tell nothing about it.
  options.settle = std::chrono::seconds(1);
  options.memory = std::chrono::seconds(10);
  return options;
}

}  // namespace

SitePlacement::SitePlacement(dsfabric::Fabric& fabric, const std::vector<proxy::Site>& sites)
    : fabric_(fabric),
      sites_(sites_of(sites)),
      node_(fabric, sites_, first_of(fabric, sites.size())) {}

void SitePlacement::find_others() { decider_.emplace(fabric_, sites_, decider_options()); }

std::size_t SitePlacement::turn(std::uint64_t busy, std::uint64_t bytes) {
  node_.load(busy);
  node_.cached(bytes);
  (void)decider_->step();
  if (const auto move = node_.moved()) node_.serve(move->to);
  return node_.serving().value;
}
