// SPDX-License-Identifier: MIT
// Which move is worth it: loads, history, caches. It knows neither processes nor memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "adaptation/decider.hpp"
#include "dtutils/clock.hpp"

namespace adaptation::detail {

/// One decider's judgement. Owner thread only.
class Policy {
 public:
  using Clock = dtutils::Clock;

  Policy(std::vector<Site> sites, const DeciderOptions& options)
      : sites_(std::move(sites)),
        options_(options),
        totals_(sites_.size()),
        quiet_until_(sites_.size()) {}

  /// Considers one sample. A move when it has been worth it for long enough.
  std::optional<Move> consider(std::span<const NodeView> nodes, Clock::time_point now);
  /// The last sample asked for a move, whether it may be made yet or not.
  bool wants() const noexcept { return wanted_.has_value(); }
  /// Adds up the loads of a sample, as consider() does.
  void add_up(std::span<const NodeView> nodes);
  /// See Decider::load; of the sample that was added up last.
  double load(SiteId site) const noexcept;
  /// Whether a site keeps its minimum of nodes that are present and not claimed.
  bool can_spare(SiteId site, std::span<const NodeView> nodes) const noexcept;

 private:
  /// A move that was seen, in the direction that it went.
  struct Seen {
    SiteId from, to;
    Clock::time_point when;
    /// How often it had gone back and forth.
    std::uint32_t turns;
  };
  struct Total {
    double load = 0;
    std::uint32_t nodes = 0;
  };

  void notice_moves(std::span<const NodeView> nodes, Clock::time_point now);
  void remember(SiteId from, SiteId to, Clock::time_point now);
  double price_of_turning(SiteId from, SiteId to, Clock::time_point now) const noexcept;
  std::optional<Move> best(std::span<const NodeView> nodes, Clock::time_point now) const;

  std::vector<Site> sites_;
  DeciderOptions options_;
  /// Of each site.
  std::vector<Total> totals_;
  /// For each site.
  std::vector<Clock::time_point> quiet_until_;
  /// The sites of all nodes in the sample before; empty: it was not present.
  std::vector<std::optional<SiteId>> before_;
  std::vector<Seen> seen_;
  /// From which site to which, and in how many samples in a row.
  std::optional<Move> wanted_;
  std::uint32_t streak_ = 0;
};

}  // namespace adaptation::detail
