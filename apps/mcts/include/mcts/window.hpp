// SPDX-License-Identifier: MIT
// How many rollouts may be under way at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mcts/settings.hpp"

namespace mcts {

/// More rollouts under way keep other processes busy while one of them has nothing to do for a
/// moment. But each counts as lost until it is back, and selection works without its news. What
/// this disturbs is a share of the tree, so the window grows with the tree: from a few to
/// `kGrowth` times as many, at one for each kVisitsEach rollouts. Plain values, any thread.
class Window {
 public:
  /// Of a job of `workers`, each of whose calls is at most `bytes` long.
  static Window of(const Settings& settings, std::uint32_t workers, std::size_t bytes) noexcept {
    // Short simulations need more of them in a batch, to make up for each look at what has arrived.
    const std::uint32_t min = std::clamp(64 / std::max(settings.playouts, 1u), 4u, 64u);
    const auto room = static_cast<std::uint32_t>(std::max(kMaxBytes / bytes, std::size_t{1}));
    Window window;
    window.first_ = std::min(workers * (settings.window != 0 ? settings.window : min), room);
    window.last_ = settings.window != 0 ? window.first_ : std::min(kGrowth * window.first_, room);
    return window;
  }

  /// When `visits` rollouts have been started.
  std::uint32_t at(std::uint64_t visits) const noexcept {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(visits / kVisitsEach, first_, last_));
  }
  /// Never more.
  std::uint32_t max() const noexcept { return last_; }

 private:
  static constexpr std::uint32_t kGrowth = 8;
  static constexpr std::uint64_t kVisitsEach = 128;
  /// All of them may be on one ring, which holds this many bytes without being emptied.
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 10;

  std::uint32_t first_ = 1;
  std::uint32_t last_ = 1;
};

}  // namespace mcts
