// SPDX-License-Identifier: MIT
// A block of children outside any tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mcts/arena.hpp"
#include "mcts/children.hpp"

namespace support {

/// Children for moves 0 to `count` - 1, and memory for `slabs` slabs.
struct Block {
  explicit Block(std::size_t count, bool learns = false, std::size_t slabs = 4)
      : arena(slabs * mcts::Arena::kSlab) {
    std::vector<mcts::Move> moves;
    for (std::size_t i = 0; i < count; ++i) moves.push_back(static_cast<mcts::Move>(i));
    memory.resize(mcts::Children::bytes_for(count, learns) / sizeof(memory[0]) + 1);
    mcts::Random random(5);
    children = mcts::Children::make(memory.data(), moves, learns, random);
  }
  std::uint32_t visit(std::uint32_t i, const mcts::Policy& policy) {
    return children->visit(i, policy, slab);
  }
  mcts::Children::Selected select(const mcts::Policy& policy, std::uint32_t visits) {
    return children->select(policy, visits, slab);
  }

  mcts::Arena arena;
  mcts::Slab slab{arena};
  std::vector<std::uint64_t> memory;
  mcts::Children* children;
};

}  // namespace support
