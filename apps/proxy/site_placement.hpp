// SPDX-License-Identifier: MIT
// The proxies of a job follow the loads of their sites.
#pragma once

#include <optional>
#include <vector>

#include "adaptation/adaptation.hpp"
#include "proxy/placement.hpp"
#include "proxy/sites.hpp"

/// This proxy as a node of adaptation, and as one of the deciders: each proxy is one, so that they
/// outlive each other. Owner thread only.
class SitePlacement final : public proxy::Placement {
 public:
  /// Proxy i begins with site i, and so on in turn. Throws dtutils::Error. Setup only.
  SitePlacement(dsfabric::Fabric& fabric, const std::vector<proxy::Site>& sites);
  /// When all proxies of the job have one. Setup only.
  void find_others();
  std::size_t turn(std::uint64_t busy, std::uint64_t bytes) override;

 private:
  dsfabric::Fabric& fabric_;
  const std::vector<adaptation::Site> sites_;
  adaptation::Node node_;
  std::optional<adaptation::Decider> decider_;
};
