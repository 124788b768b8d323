// SPDX-License-Identifier: MIT
// How selection weighs what is known of a child.
#pragma once

#include <cmath>
#include <cstdint>

#include "mcts/settings.hpp"

namespace mcts {

/// The constants of one search, ready for use. Plain values, any thread.
struct Policy {
  float exploration = 0;
  /// Settings::rave in playouts rather than rollouts.
  float rave_playouts = 0;
  float rave = 0;
  /// 1 / points of a visit that wins everything.
  float wins_a_point = 0.5F;
  /// What a selection counts as made at once, and what its result adds to that.
  std::uint32_t made_at_once = 1;
  std::uint32_t made_later = 0;

  static Policy of(const Settings& settings, bool learns) noexcept {
    const auto playouts = static_cast<float>(settings.playouts);
    const auto at_once = static_cast<std::uint32_t>(playouts * settings.virtual_loss + 0.5F);
    return {.exploration = exploration_of(settings, learns),
            .rave_playouts = settings.rave * playouts,
            .rave = settings.rave,
            .wins_a_point = 1 / (2 * playouts),
            .made_at_once = at_once,
            .made_later = settings.playouts - at_once};
  }
  /// The factor of exploration at a node with `visits` visits.
  float factor(std::uint32_t visits) const noexcept {
    return exploration * std::sqrt(std::log(static_cast<float>(visits) + 1.0F));
  }
  /// The share of wins of a child, from its own visits and from the playouts in which its move was
  /// made somewhere (`made`, and won, `made_wins`). The latter count as made * rave / (made + rave)
  /// visits, so `rave` at most: many before a child has visits of its own, few beside many of its
  /// own. Without any news a child is worth a half. `Real`: float, or several of them. Source:
  /// Gelly and Silver, "Monte-Carlo tree search and rapid action value estimation in computer Go";
  /// the weight is that of Pachi.
  template <class Real>
  Real blend(Real wins, Real visits, Real made_wins, Real made) const noexcept {
    constexpr float kPrior = 0.02F;
    const Real scale = made + rave_playouts;
    return ((wins + kPrior / 2) * scale + made_wins * rave) /
           ((visits + kPrior) * scale + made * rave);
  }
};

}  // namespace mcts
