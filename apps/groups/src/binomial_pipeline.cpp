// SPDX-License-Identifier: MIT
// Steps of the binomial pipeline: between vertices by a formula, inside of pairs by what is there.
#include "binomial_pipeline.hpp"

#include <algorithm>
#include <bit>

namespace groups {

BinomialPipeline::BinomialPipeline(std::uint32_t members, std::uint32_t blocks)
    : members_(members),
      blocks_(blocks),
      dimensions_(static_cast<std::uint32_t>(std::bit_width(members)) - 1),
      vertices_(std::bit_floor(members)),
      has_(std::size_t{members} * blocks),
      first_missing_(members) {
  std::fill_n(has_.begin(), blocks, true);
  first_missing_[0] = blocks;
}

std::optional<std::uint32_t> BinomialPipeline::twin(std::uint32_t vertex) const {
  if (vertex == 0 || vertex > members_ - vertices_) return {};
  return vertices_ + vertex - 1;
}

bool BinomialPipeline::vertex_has(std::uint32_t vertex, std::uint32_t block) const {
  const auto other = twin(vertex);
  return has(vertex, block) || (other && has(*other, block));
}

std::optional<std::uint32_t> BinomialPipeline::outgoing(std::uint32_t vertex,
                                                        std::uint32_t step) const {
  // The root injects block j in step j. Who has the bit of the lowest dimension at or after the
  // step's one, in cyclic order, sends what was injected when that dimension came last.
  const std::uint32_t dimension = step % dimensions_;
  std::uint32_t block = step;
  if (vertex != 0) {
    std::uint32_t distance = 0;
    while ((vertex >> (dimension + distance) % dimensions_ & 1) == 0) ++distance;
    if (step + distance < dimensions_) return {};
    block = step + distance - dimensions_;
  }
  block = std::min(block, blocks_ - 1);
  if (vertex_has(vertex ^ 1u << dimension, block)) return {};
  return block;
}

std::optional<std::uint32_t> BinomialPipeline::lacking(std::uint32_t from, std::uint32_t to) const {
  for (std::uint32_t block = first_missing_[to]; block < injected_; ++block) {
    if (has(from, block) && !has(to, block)) return block;
  }
  return {};
}

void BinomialPipeline::choose(std::uint32_t vertex, Turn& turn) const {
  turn.sender = turn.receiver = vertex;
  const auto other = twin(vertex);
  if (!other) return;
  // Who can give the other one something receives from outside, so that the other one is free.
  const std::uint32_t richer = lacking(vertex, *other) ? vertex : *other;
  const std::uint32_t poorer = richer == vertex ? *other : vertex;
  turn.sender = turn.sends && !has(poorer, *turn.sends) ? richer : poorer;
  turn.receiver = turn.sends && turn.sender == richer ? poorer : richer;
}

void BinomialPipeline::inside(std::uint32_t vertex, const Turn& turn, std::uint32_t step) {
  const auto other = twin(vertex);
  if (!other) return;
  for (const auto& [from, to] : {std::pair{vertex, *other}, std::pair{*other, vertex}}) {
    if ((turn.sends && turn.sender == from) || (turn.receives && turn.receiver == to)) continue;
    if (const auto block = lacking(from, to)) hops_.push_back({step, from, to, *block});
  }
}

std::vector<Hop> BinomialPipeline::hops() {
  const std::size_t all = std::size_t{members_ - 1} * blocks_;
  std::vector<Turn> turns(vertices_);
  for (std::uint32_t step = 0; hops_.size() < all; ++step) {
    const std::uint32_t bit = 1u << step % dimensions_;
    const std::size_t before = hops_.size();
    injected_ = std::min(step, blocks_);
    for (std::uint32_t v = 0; v < vertices_; ++v) turns[v].sends = outgoing(v, step);
    for (std::uint32_t v = 0; v < vertices_; ++v) turns[v].receives = turns[v ^ bit].sends;
    for (std::uint32_t v = 0; v < vertices_; ++v) choose(v, turns[v]);
    for (std::uint32_t v = 0; v < vertices_; ++v) {
      const Turn& turn = turns[v];
      if (turn.sends) hops_.push_back({step, turn.sender, turns[v ^ bit].receiver, *turn.sends});
      inside(v, turn, step);
    }
    for (std::size_t i = before; i < hops_.size(); ++i) {
      const Hop& hop = hops_[i];
      has_[std::size_t{hop.to} * blocks_ + hop.block] = true;
      std::uint32_t& first = first_missing_[hop.to];
      while (first < blocks_ && has(hop.to, first)) ++first;
    }
  }
  return std::move(hops_);
}

}  // namespace groups
