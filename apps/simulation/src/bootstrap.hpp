// SPDX-License-Identifier: MIT
// How the nodes of a simulated job meet: in the memory of the process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dsfabric/bootstrap.hpp"

namespace simulation {

/// What the nodes put down for each other. One of their threads runs at a time.
class Board {
 public:
  explicit Board(std::uint32_t nodes) : came_(nodes), given_(nodes) {}

  /// Rank `rank` gives `parts`, one for all or one for each, and gets its part of each.
  std::vector<dsfabric::Bytes> exchange(std::uint32_t rank, std::vector<dsfabric::Bytes> parts,
                                        std::chrono::milliseconds limit);
  std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(came_.size()); }

 private:
  /// How many exchanges each has begun.
  std::vector<std::uint64_t> came_;
  /// What each gave to the last two, which may overlap.
  struct Given {
    std::vector<dsfabric::Bytes> parts[2];
  };
  std::vector<Given> given_;
};

/// It brings no news of failures: the fabric finds them by itself.
class BoardBootstrap final : public dsfabric::Bootstrap {
 public:
  BoardBootstrap(std::shared_ptr<Board> board, std::uint32_t rank) noexcept
      : board_(std::move(board)), rank_(rank) {}

  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return board_->nodes(); }
  std::string name() const override { return "a simulation"; }
  std::vector<dsfabric::Bytes> all_gather(std::span<const std::byte> mine,
                                          std::chrono::milliseconds limit) override {
    return board_->exchange(rank_, {dsfabric::Bytes(mine.begin(), mine.end())}, limit);
  }
  std::vector<dsfabric::Bytes> all_to_all(std::span<const dsfabric::Bytes> mine,
                                          std::chrono::milliseconds limit) override {
    return board_->exchange(rank_, {mine.begin(), mine.end()}, limit);
  }

 private:
  const std::shared_ptr<Board> board_;
  const std::uint32_t rank_;
};

}  // namespace simulation
