// SPDX-License-Identifier: MIT
// Looks at all nodes and moves one when that is worth it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adaptation/sites.hpp"
#include "dsfabric/fabric.hpp"

namespace adaptation {

namespace detail {
class Samples;
class Policy;
}  // namespace detail

/// How eagerly nodes move.
struct DeciderOptions {
  /// Sensitivity: a move must bring down the load of the more loaded site by this part of it, as
  /// far as the loads of now can tell. Above 0.
  double threshold = 0.15;
  /// Sensitivity: in so many samples, one after the other, the same move must have been worth it.
  std::uint32_t samples = 3;
  /// History: after a move, its two sites are left alone for so long, from when this decider has
  /// seen it; until then loads tell nothing about it.
  std::chrono::milliseconds settle{50};
  /// History: a move back within so long needs twice the gain, the next one back four times, up to
  /// 16 times.
  std::chrono::milliseconds memory{5000};
  /// Caches: the load that a cached byte of the moved node stands for. A node with little in its
  /// cache is moved before one with much, and none whose cache is worth more than the move brings.
  double cache_price = 0;
  /// A claim that stays as it is for so long is taken away from its decider, which may have died.
  std::chrono::milliseconds claim_patience{100};
  /// Counter that says the load of a node, of its monitoring::Board; a total is taken as its rate a
  /// second. This one is that of Node::load.
  std::string load_counter = "adaptation.load";
  /// Counter of the bytes cached; this one is that of Node::cached.
  std::string cached_counter = "adaptation.cached";
};

/// A node as the last sample has it.
struct NodeView {
  /// Its number.
  dsfabric::ProcessId process;
  /// It is a node, and neither failed nor left as far as this process knows. Else the rest means
  /// nothing.
  bool present = false;
  /// What it is to serve.
  SiteId site;
  /// What it serves; send requests of a site to the nodes that serve it.
  SiteId serving;
  /// A decider is about to move it.
  bool claimed = false;
  /// Its figures.
  double load = 0;
  /// See Node::cached.
  double cached = 0;
};

/// What a step has come to.
enum class Outcome : std::uint8_t {
  /// No move is worth it.
  kQuiet,
  /// One would be, but not for long enough yet, or its sites are left alone after another move.
  kWaits,
  /// A node was moved: last_move().
  kMoved,
  /// Another decider was faster.
  kTaken,
  /// The site could not spare the node, since others were about to take nodes from it.
  kKept,
  /// The node is gone.
  kGone,
};
/// In words, for people.
const char* to_string(Outcome outcome) noexcept;

/// Decides about moves of nodes, from their loads (paper 003, sections 3 and 5.2; RAIT 2004, ISPASS
/// 2005). As many deciders as one likes, in any processes, nodes or not; none knows of the others.
///
/// A move is: claim the node by a compare-and-swap of its word; look at all nodes once more; give
/// the claim back if the site would keep less than its minimum, where claimed nodes count as gone;
/// else confirm it by another compare-and-swap. Of two deciders that claim two nodes of a site, at
/// least the later one sees the other's claim. A claim whose decider died or was stopped is taken
/// away by anybody, at any time: its confirmation then fails. So nothing that is decided here rests
/// on who is believed to live, but the count of nodes that a site can spare.
///
/// Owner thread only; the Fabric outlives it. Not inside a message handler.
class Decider {
 public:
  /// Throws Error when the list of sites or the options are wrong, or there is no registered
  /// memory. Setup only.
  Decider(dsfabric::Fabric& fabric, std::vector<Site> sites, DeciderOptions options = {});
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;
  ~Decider();

  /// Finds nodes that were made since. It asks the processes that keep their names by calls, and
  /// waits for them (Fabric::lookup); nothing else here does. Setup only.
  void find_nodes();

  /// Takes a sample of all nodes, by RDMA reads, and moves at most one node. Call it every
  /// millisecond, or as often as loads change; it waits for no processor of any node. Throws Error
  /// when a node was made with another list of sites.
  Outcome step();
  /// Only takes the sample.
  void look();

  /// All processes, as the last sample has them, by number.
  std::span<const NodeView> nodes() const noexcept;
  /// Load of a site in the last sample: that of its nodes, over their number, times the site's
  /// share. 0 without nodes.
  double load(SiteId site) const noexcept;
  /// What the last kMoved was about.
  const Move& last_move() const noexcept { return last_move_; }

 private:
  Outcome carry_out(const Move& move);

  std::unique_ptr<detail::Samples> samples_;
  std::unique_ptr<detail::Policy> policy_;
  Move last_move_;
};

}  // namespace adaptation
