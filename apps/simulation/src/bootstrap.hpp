// SPDX-License-Identifier: MIT
// A process of a simulated job, as its fabric sees the job.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "board.hpp"
#include "dsfabric/bootstrap.hpp"

namespace simulation {

/// All of it is what the Board says about this rank.
class BoardBootstrap final : public dsfabric::Bootstrap {
 public:
  /// Throws Error.
  BoardBootstrap(Board& board, std::uint32_t rank) : board_(board), rank_(rank) {
    board_.come(rank);
  }
  ~BoardBootstrap() override { board_.go(rank_); }

  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return board_.nodes(); }
  std::string name() const override { return "a simulation"; }
  std::vector<dsfabric::Bytes> all_gather(std::span<const std::byte> mine,
                                          std::chrono::milliseconds limit) override {
    return board_.exchange(rank_, {dsfabric::Bytes(mine.begin(), mine.end())}, limit);
  }
  std::vector<dsfabric::Bytes> all_to_all(std::span<const dsfabric::Bytes> mine,
                                          std::chrono::milliseconds limit) override {
    return board_.exchange(rank_, {mine.begin(), mine.end()}, limit);
  }
  int failure_fd() const noexcept override { return board_.descriptor(rank_); }
  std::optional<std::uint32_t> next_failed() noexcept override { return board_.next_failed(rank_); }
  bool relays() const noexcept override { return true; }
  void send(std::uint32_t to, std::span<const std::byte> bytes) override {
    board_.send(rank_, to, bytes);
  }
  std::optional<Letter> next_letter() noexcept override { return board_.next_letter(rank_); }
  void goodbye() noexcept override { board_.goodbye(rank_); }

 private:
  Board& board_;
  const std::uint32_t rank_;
};

}  // namespace simulation
