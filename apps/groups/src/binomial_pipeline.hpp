// SPDX-License-Identifier: MIT
// The binomial pipeline for any number of members, by playing it through.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "groups/schedule.hpp"

namespace groups {

/// The hypercube has 2^floor(log2 n) vertices. Member v is vertex v; members that are left over are
/// twins of vertices 1, 2, ... The root has no twin, since there are fewer left over than vertices.
/// In each step a vertex sends one block to its neighbour in the dimension of the step, and gets
/// one from it. Of a pair, one sends and the other one receives; inside of the pair, who is free to
/// send gives the other one what it lacks. Setup only.
class BinomialPipeline {
 public:
  /// At least two members and one block.
  BinomialPipeline(std::uint32_t members, std::uint32_t blocks);
  std::vector<Hop> hops();

 private:
  /// Of one vertex in one step.
  struct Turn {
    std::optional<std::uint32_t> sends, receives;  // blocks
    std::uint32_t sender = 0, receiver = 0;        // members
  };

  bool has(std::uint32_t member, std::uint32_t block) const {
    return has_[std::size_t{member} * blocks_ + block];
  }
  std::optional<std::uint32_t> twin(std::uint32_t vertex) const;
  bool vertex_has(std::uint32_t vertex, std::uint32_t block) const;
  std::optional<std::uint32_t> outgoing(std::uint32_t vertex, std::uint32_t step) const;
  /// The first block that `from` has and `to` has not.
  std::optional<std::uint32_t> lacking(std::uint32_t from, std::uint32_t to) const;
  void choose(std::uint32_t vertex, Turn& turn) const;
  void inside(std::uint32_t vertex, const Turn& turn, std::uint32_t step);

  const std::uint32_t members_;
  const std::uint32_t blocks_;
  std::uint32_t dimensions_;
  std::uint32_t vertices_;
  std::vector<bool> has_;
  /// Per member: all blocks below are there.
  std::vector<std::uint32_t> first_missing_;
  /// Blocks that have left the root before this step.
  std::uint32_t injected_ = 0;
  std::vector<Hop> hops_;
};

}  // namespace groups
