// SPDX-License-Identifier: MIT
// What a decider reads and changes of nodes.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "adaptation/decider.hpp"
#include "dsfabric/send_channel.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/rdma_memory.hpp"
#include "monitoring/watcher.hpp"
#include "place_word.hpp"

namespace adaptation::detail {

/// The pages and figures of all nodes, as one decider sees them. Owner thread only.
class Samples {
 public:
  using Clock = dtutils::Clock;

  Samples(dsfabric::Fabric& fabric, std::uint64_t sites, const DeciderOptions& options);

  /// See Decider.
  void find_nodes();
  /// Reads all nodes, and takes claims away that are too old. Throws Error when a node was made
  /// with other sites.
  void take(Clock::time_point now);
  /// Reads their words only.
  void take_places();
  std::span<const NodeView> nodes() const noexcept { return views_; }
  /// The word of a present node.
  PlaceWord place(dsfabric::ProcessId node) const noexcept { return known_[node.value].place; }

  enum class Changed : std::uint8_t { kYes, kNo, kGone };
  /// Changes the word of a node from what the last sample has.
  Changed change(dsfabric::ProcessId node, const PlaceWord& to) noexcept;

 private:
  struct Known {
    /// Empty: it is not known as a node.
    dtutils::RemoteMemoryLocator page;
    PlaceWord place;
    /// Since when the word is this one.
    Clock::time_point since{};
    /// Indices among the counters; -1: not found yet.
    int load = -1;
    int cached = -1;
    bool rate = false;
    std::uint64_t last_total = 0;
    Clock::time_point last_read{};
  };

  bool here(dsfabric::ProcessId process) const noexcept;
  /// Of the page of a process; empty when it has none, or is gone.
  dtutils::RemoteMemoryLocator find_page(dsfabric::ProcessId process);
  bool read_place(dsfabric::ProcessId node, Known& known, NodeView& view);
  void read_figures(dsfabric::ProcessId node, Known& known, NodeView& view, Clock::time_point now);

  dsfabric::Fabric& fabric_;
  std::uint64_t sites_;
  DeciderOptions options_;
  monitoring::Watcher watcher_;
  dsfabric::SendChannel calls_;
  dtutils::RDMAMemory scratch_;
  std::vector<Known> known_;
  std::vector<NodeView> views_;
};

}  // namespace adaptation::detail
