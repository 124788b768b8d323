// SPDX-License-Identifier: MIT
// The figures of a proxy on the board of its process, for cariama-top.
#pragma once

#include <array>
#include <optional>

#include "dsfabric/fabric.hpp"
#include "monitoring/monitoring.hpp"
#include "proxy/publisher.hpp"

/// Each process also tells cariama-top of all, so that no death leaves a job unseen. Owner thread
/// only.
class JobFigures final : public proxy::Publisher {
 public:
  /// Throws as monitoring::Board, Sampler and Reporter. Setup only.
  explicit JobFigures(dsfabric::Fabric& fabric);
  void publish(const proxy::Metrics& metrics, const proxy::DocumentStore::Figures& store) override;

 private:
  monitoring::Board board_;
  std::array<std::optional<monitoring::Counter>, proxy::kOutcomes> requests_;
  monitoring::Counter clients_, sent_, asked_, received_;
  monitoring::Counter documents_, bytes_, evicted_, from_neighbours_;
  monitoring::Sampler sampler_;
  monitoring::Reporter reporter_;
};
