// SPDX-License-Identifier: MIT
// Policy: gains, streaks and history.
#include "policy.hpp"

#include <algorithm>

namespace adaptation::detail {
namespace {

constexpr std::uint32_t kMaxTurns = 4;

}  // namespace

void Policy::add_up(std::span<const NodeView> nodes) {
  totals_.assign(sites_.size(), {});
  for (const NodeView& node : nodes) {
    if (!node.present || node.site.value >= sites_.size()) continue;
    totals_[node.site.value].load += node.load;
    ++totals_[node.site.value].nodes;
  }
}

double Policy::load(SiteId site) const noexcept {
  const Total& sum = totals_[site.value];
  return sum.nodes == 0 ? 0 : sum.load * sites_[site.value].share / sum.nodes;
}

bool Policy::can_spare(SiteId site, std::span<const NodeView> nodes) const noexcept {
  const auto stays = [&](const NodeView& node) {
    return node.present && node.site == site && !node.claimed;
  };
  return std::ranges::count_if(nodes, stays) >= sites_[site.value].minimum;
}

void Policy::remember(SiteId from, SiteId to, Clock::time_point now) {
  quiet_until_[from.value] = quiet_until_[to.value] = now + options_.settle;
  std::erase_if(seen_, [&](const Seen& seen) { return now - seen.when >= options_.memory; });
  std::uint32_t turns = 0;
  const auto pair = std::ranges::find_if(seen_, [&](const Seen& seen) {
    return (seen.from == from && seen.to == to) || (seen.from == to && seen.to == from);
  });
  if (pair != seen_.end()) {
    turns = std::min(pair->turns + (pair->from == to ? 1u : 0u), kMaxTurns);
    seen_.erase(pair);
  }
  seen_.push_back({from, to, now, turns});
}

void Policy::notice_moves(std::span<const NodeView> nodes, Clock::time_point now) {
  before_.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeView& node = nodes[i];
    if (node.present && before_[i] && *before_[i] != node.site) {
      remember(*before_[i], node.site, now);
    }
    before_[i] = node.present ? std::optional(node.site) : std::nullopt;
  }
}

double Policy::price_of_turning(SiteId from, SiteId to, Clock::time_point now) const noexcept {
  for (const Seen& seen : seen_) {
    if (seen.from != to || seen.to != from || now - seen.when >= options_.memory) continue;
    return static_cast<double>(1u << std::min(seen.turns + 1, kMaxTurns));
  }
  return 1;
}

// All pairs of sites: there are few. A site without nodes cannot say its load, and comes first.
std::optional<Move> Policy::best(std::span<const NodeView> nodes, Clock::time_point now) const {
  std::optional<Move> best;
  double best_gain = 0;
  bool best_empty = false;
  for (std::uint8_t to = 0; to < sites_.size(); ++to) {
    const Total& there = totals_[to];
    const double share_there = sites_[to].share;
    const double loaded = load({to});
    for (const NodeView& node : nodes) {
      if (!node.present || node.claimed || node.site.value == to) continue;
      const SiteId from = node.site;
      const Total& here = totals_[from.value];
      if (here.nodes <= sites_[from.value].minimum) continue;
      const bool empty = there.nodes == 0;
      const double after = std::max(there.load * share_there / (there.nodes + 1),
                                    here.load * sites_[from.value].share / (here.nodes - 1));
      const double gain = loaded - after - options_.cache_price * node.cached;
      const double wanted = options_.threshold * price_of_turning(from, {to}, now) * loaded;
      if (!empty && (gain <= 0 || gain < wanted)) continue;
      if (best && (best_empty > empty || (best_empty == empty && best_gain >= gain))) continue;
      best = Move{node.process, from, {to}};
      best_gain = gain;
      best_empty = empty;
    }
  }
  return best;
}

std::optional<Move> Policy::consider(std::span<const NodeView> nodes, Clock::time_point now) {
  notice_moves(nodes, now);
  add_up(nodes);
  const std::optional<Move> wish = best(nodes, now);
  const bool same = wish && wanted_ && wish->from == wanted_->from && wish->to == wanted_->to;
  wanted_ = wish;
  if (!wish) {
    streak_ = 0;
    return {};
  }
  if (now < quiet_until_[wish->from.value] || now < quiet_until_[wish->to.value]) {
    streak_ = 0;
    return {};
  }
  streak_ = same ? streak_ + 1 : 1;
  if (streak_ < options_.samples) return {};
  streak_ = 0;
  return wish;
}

}  // namespace adaptation::detail
