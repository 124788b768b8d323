// SPDX-License-Identifier: MIT
// What each curve shows, and why it bends.
#include <algorithm>
#include <array>
#include <utility>

#include "cases.hpp"

namespace scale {

std::string_view explanation(std::string_view curve) noexcept {
  using Text = std::pair<std::string_view, std::string_view>;
  static constexpr std::array kAll{
      Text{"barrier",
           "From the time at which all come until the last has left. Up to 16 nodes there is one "
           "round, in which each node posts to all others, so the posts grow with the nodes. Above "
           "that rounds have three partners, and a fourfold number of nodes costs one more round: "
           "the curve bends down. Above 36 nodes the farthest are three switches away."},
      Text{"all_gather",
           "8 bytes of each node. Rounds as those of a barrier, but a partner gets what the node "
           "has so far, 64 bytes a slot, and a flag: twice the posts. The last round carries "
           "most of the slots. From 512 nodes on these bytes take longer than the posts of all "
           "rounds: the curve bends up, and grows with the nodes."},
      Text{"broadcast",
           "A call to all along a binomial tree of messages, until the last node has run it: one "
           "step more for each doubling, a straight line over the logarithm. Above 36 nodes the "
           "steps to distant nodes cross three switches."},
      Text{
          "termination",
          "wait_for_termination() where no call is left: two waves, each an all_gather with a look "
          "at what has arrived before it. So it bends where all_gather does."},
      Text{"sst_push",
           "The time of the member that sets a field: a post for each other member, and nothing "
           "else. A straight line."},
      Text{"sst_detection",
           "The same, until the predicate of the last member has seen it. Up to 8 nodes it is the "
           "flight of one write; then the posts of the one thread are more, and it grows with the "
           "members: where many have to know, a tree is faster."},
      Text{"all_to_all",
           "16 calls of each node to each other one, gathered, until the last has run. Two posts "
           "for each destination, the calls and their header, since bytes of one write land in any "
           "order. Up to 4 nodes it is the flight; then the posts of the one thread are more, and "
           "it "
           "grows with the nodes. The bytes never matter: a link carries them in a sixth of the "
           "time that their posts take."},
      Text{"tree_search",
           "Rollouts of one tree, whose nodes are at random places; each costs 16 playouts of "
           "0.625 us. A call waits for the playouts of the worker that it comes to, which is most "
           "of what a rollout takes, and the deeper the tree, the more calls a rollout needs. The "
           "closed form has M/D/1 queues at equal workers, and the calls of a rollout as counted. "
           "Where the search falls behind it, workers are not equal: all rollouts pass the worker "
           "of the root, which posts once for each, and the few that have its children. With posts "
           "of 1 ns instead of 50 it does not fall behind."},
  };
  const auto found = std::ranges::find(kAll, curve, &Text::first);
  return found == kAll.end() ? std::string_view() : found->second;
}

}  // namespace scale
