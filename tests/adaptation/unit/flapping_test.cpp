// SPDX-License-Identifier: MIT
// Loads that swing between two sites, in a time that the test sets: history keeps nodes in place,
// and lets them go when a load stays.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "policy.hpp"
#include "support/catch.hpp"

using adaptation::DeciderOptions;
using adaptation::NodeView;
using adaptation::Site;
using adaptation::SiteId;
using adaptation::detail::Policy;
using std::chrono::milliseconds;

namespace {

constexpr int kNodes = 8, kDeciders = 2;
constexpr double kMuch = 800, kLittle = 100;
constexpr std::int64_t kMinute = 60'000;

/// Nodes of two sites that share the work of each, and deciders that sample every millisecond.
class Swing {
 public:
  explicit Swing(const DeciderOptions& options)
      : policies_(kDeciders, Policy({{.name = "a"}, {.name = "b"}}, options)), nodes_(kNodes) {
    for (std::uint16_t i = 0; i < kNodes; ++i) {
      nodes_[i].process = {i};
      nodes_[i].present = true;
      nodes_[i].site = nodes_[i].serving = {static_cast<std::uint8_t>(i % 2)};
    }
  }

  /// A millisecond in which site `busy` has much to do, and the other one little. Returns the
  /// moves.
  int step(std::uint8_t busy) {
    now_ += milliseconds(1);
    int moves = 0;
    for (Policy& policy : policies_) {
      for (NodeView& node : nodes_) {
        node.load = (node.site.value == busy ? kMuch : kLittle) / nodes_of(node.site.value);
      }
      const auto move = policy.consider(nodes_, now_);
      if (!move) continue;
      nodes_[move->node.value].site = move->to;
      ++moves;
    }
    return moves;
  }
  int nodes_of(std::uint8_t site) const {
    return static_cast<int>(std::ranges::count(nodes_, SiteId{site}, &NodeView::site));
  }

 private:
  std::vector<Policy> policies_;
  std::vector<NodeView> nodes_;
  Policy::Clock::time_point now_{std::chrono::hours(1)};
};

/// Moves in a minute of a load that is on each side for so long, or for a time about that.
int moves_in_a_minute(Swing& swing, std::int64_t half, bool at_random) {
  std::mt19937_64 random(static_cast<std::uint64_t>(half));
  std::exponential_distribution<double> about(1.0 / static_cast<double>(half));
  std::uint8_t busy = 0;
  int moves = 0;
  for (std::int64_t at = 0, until = half; at < kMinute; ++at) {
    if (at >= until) {
      busy = 1 - busy;
      until = at + (at_random ? 1 + static_cast<std::int64_t>(about(random)) : half);
    }
    moves += swing.step(busy);
  }
  return moves;
}

}  // namespace

TEST_CASE("a_load_that_swings_moves_few_nodes_and_one_that_stays_still_moves_them") {
  // In each time of DeciderOptions::memory three nodes at most move there, back, and there again;
  // another turn would be too dear for any load.
  const auto kAllowed = 3 * 3 * kMinute / DeciderOptions{}.memory.count();
  DeciderOptions forgetful;
  forgetful.memory = milliseconds(0);
  for (const std::int64_t half : {60, 100, 250, 700, 1500}) {
    for (const bool at_random : {false, true}) {
      Swing swing{DeciderOptions{}}, without{forgetful};
      const int moves = moves_in_a_minute(swing, half, at_random);
      const int many = moves_in_a_minute(without, half, at_random);
      INFO(half << " ms: " << moves << " moves, without history " << many);
      CHECK(moves <= kAllowed);
      CHECK(many > (half < 1000 ? 3 : 1) * moves);
      // The load stays: after the memory of the swing, the nodes are where the work is.
      for (int i = 0; i < 10'000; ++i) swing.step(0);
      CHECK(swing.nodes_of(0) >= kNodes - 2);
      for (int i = 0; i < 10'000; ++i) swing.step(1);
      CHECK(swing.nodes_of(1) >= kNodes - 2);
    }
  }
}
