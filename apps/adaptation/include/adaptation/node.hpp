// SPDX-License-Identifier: MIT
// A process that serves one of the sites.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "adaptation/sites.hpp"
#include "dsfabric/fabric.hpp"
#include "monitoring/board.hpp"

namespace adaptation {

namespace detail {
class NodeMemory;
}  // namespace detail

/// This process as a node. Which site it serves is a word in its own registered memory, which
/// deciders in other processes change by one compare-and-swap (paper 003, section 3; RAIT 2004), so
/// the word lives as long as what it speaks of, and nobody's processor is needed for a move.
///
///     adaptation::Node node(fabric, sites, {0});
///     while (serving) {
///       node.load(queue.size());
///       if (const auto move = node.moved()) {
///         finish_requests_of(move->from);        // and forget what was cached for it
///         node.serve(move->to);
///       }
///     }
///
/// Owner thread only, but for load() and cached().
class Node {
 public:
  /// Becomes a node of that site, under this process' number. Throws Error when the list or the
  /// site is wrong, the process has a Node already or there is no registered memory. Not inside a
  /// message handler. Setup only.
  Node(dsfabric::Fabric& fabric, const std::vector<Site>& sites, SiteId site);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  /// It is no node any more: no decider counts or moves it.
  ~Node();

  /// The site that it is to serve. Wait-free.
  SiteId site() const noexcept;
  /// The site that it serves: what serve() said last.
  SiteId serving() const noexcept { return serving_; }
  /// The move that it has to follow; empty when it serves what it is to serve. When it was moved
  /// twice meanwhile, `to` is the last one. Wait-free.
  std::optional<Move> moved() const noexcept;
  /// From now on it serves that site: dispatchers see it (NodeView::serving). Wait-free.
  void serve(SiteId site) noexcept;

  /// Its load now, in any unit that all nodes share: requests in the queue, work a second. Nodes of
  /// an overloaded site must say more than those of an idle one. Any thread, wait-free.
  void load(std::uint64_t load) noexcept { load_.set(load); }
  /// Bytes that it has cached for its site, which a move makes worthless. Any thread, wait-free.
  void cached(std::uint64_t bytes) noexcept { cached_.set(bytes); }

 private:
  dsfabric::ProcessId self_;
  std::shared_ptr<detail::NodeMemory> memory_;
  monitoring::Board board_;
  monitoring::Counter load_;
  monitoring::Counter cached_;
  monitoring::Counter site_counter_;
  SiteId serving_;
};

}  // namespace adaptation
