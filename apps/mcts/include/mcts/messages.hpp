// SPDX-License-Identifier: MIT
// The calls between workers of a search: what a rollout says when it goes to another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "dsfabric/dsfabric.hpp"
#include "mcts/link.hpp"
#include "mcts/simulator.hpp"
#include "mcts/tree.hpp"

namespace mcts {

/// Each carries the address of its destination's walker (all_gather), not a GlobalPtr, and no more
/// of a ParentRef than the destination needs: a rollout makes several of these, so bytes count.
/// They run in progress() of the destination's thread.
template <class Walker>
struct Messages {
  using Game = typename Walker::GameHere;
  using Context = dsfabric::CallContext;

  static Walker& at(std::uint64_t walker) noexcept { return *reinterpret_cast<Walker*>(walker); }

  /// Go on from this node.
  struct Select {
    std::uint64_t walker;
    std::uint32_t cell;
    std::uint32_t visits;
    void operator()() const noexcept { at(walker).on_select(cell, visits); }
  };
  /// A new leaf to simulate; `kNode`: it also becomes a node there.
  template <bool kNode>
  struct Leaf {
    std::uint64_t walker;
    std::uint32_t parent_cell;
    std::uint16_t parent_rank;
    std::uint16_t child;
    void operator()(Context&, std::byte* position, std::uint32_t) const noexcept {
      const Game& at_leaf = *std::launder(reinterpret_cast<Game*>(position));
      const ParentRef parent{{parent_cell, parent_rank}, child};
      kNode ? at(walker).on_create(at_leaf, parent) : at(walker).on_simulate(at_leaf, parent);
    }
  };
  using Create = Leaf<true>;
  using Simulate = Leaf<false>;
  /// A result for a child of this node, with the owners of its moves when the search learns.
  struct Return {
    std::uint64_t walker;
    std::uint32_t cell;
    std::uint16_t child;
    Result result;
    void operator()(Context&, std::byte* owners, std::uint32_t bytes) const noexcept {
      at(walker).on_return({{cell, 0}, child}, result, owners_in(owners, bytes));
    }
  };
  /// The first Return of a new node, with its place.
  struct Created {
    std::uint64_t walker;
    std::uint64_t link;
    std::uint32_t cell;
    std::uint16_t child;
    Result result;
    void operator()(Context&, std::byte* owners, std::uint32_t bytes) const noexcept {
      at(walker).on_created({{cell, 0}, child}, Link::of(link), result, owners_in(owners, bytes));
    }
  };
  static_assert(sizeof(Select) == 16 && sizeof(Create) == 16 && sizeof(Return) == 16 &&
                sizeof(Created) == 24);

 private:
  using Owners = typename OwnersOf<Game>::Type;
  static const Owners* owners_in(std::byte* bytes, std::uint32_t count) noexcept {
    return count == 0 ? nullptr : std::launder(reinterpret_cast<const Owners*>(bytes));
  }
};

}  // namespace mcts
