// SPDX-License-Identifier: MIT
// Decider: samples, judgement, and the two compare-and-swaps of a move.
#include "adaptation/decider.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "dtutils/error.hpp"
#include "policy.hpp"
#include "samples.hpp"

namespace adaptation {
namespace {

using detail::PlaceWord;
using Changed = detail::Samples::Changed;

void check_options(const DeciderOptions& options) {
  const auto refuse = [](const std::string& happened, const std::string& remedy) {
    throw dtutils::Error("options of a decider", happened, remedy);
  };
  if (!std::isfinite(options.threshold) || options.threshold <= 0) {
    refuse(fmt::format("the threshold is {}", options.threshold), "give a number above 0");
  }
  if (options.samples == 0) refuse("no sample is to be taken", "set samples to 1 or more");
  if (!std::isfinite(options.cache_price) || options.cache_price < 0) {
    refuse(fmt::format("the price of a cached byte is {}", options.cache_price),
           "give 0 or a number above it");
  }
  if (options.settle.count() < 0 || options.memory.count() < 0 ||
      options.claim_patience.count() <= 0) {
    refuse("a time is negative, or there is no patience with claims", "give times of 1 ms or more");
  }
}

}  // namespace

const char* to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kQuiet:
      return "no move is worth it";
    case Outcome::kWaits:
      return "a move has not been worth it for long enough";
    case Outcome::kMoved:
      return "moved";
    case Outcome::kTaken:
      return "another decider was faster";
    case Outcome::kKept:
      return "the site needs the node";
    case Outcome::kGone:
      return "the node is gone";
  }
  return "unknown";
}

Decider::Decider(dsfabric::Fabric& fabric, std::vector<Site> sites, DeciderOptions options) {
  const std::uint64_t digest = detail::check(sites);
  check_options(options);
  samples_ = std::make_unique<detail::Samples>(fabric, digest, options);
  policy_ = std::make_unique<detail::Policy>(std::move(sites), options);
}

Decider::~Decider() = default;

std::span<const NodeView> Decider::nodes() const noexcept { return samples_->nodes(); }

double Decider::load(SiteId site) const noexcept { return policy_->load(site); }

void Decider::find_nodes() { samples_->find_nodes(); }

void Decider::look() {
  samples_->take(detail::Samples::Clock::now());
  policy_->add_up(nodes());
}

Outcome Decider::step() {
  const auto now = detail::Samples::Clock::now();
  samples_->take(now);
  const std::optional<Move> move = policy_->consider(nodes(), now);
  if (move) return carry_out(*move);
  return policy_->wants() ? Outcome::kWaits : Outcome::kQuiet;
}

Outcome Decider::carry_out(const Move& move) {
  const auto outcome_of = [](Changed changed) {
    return changed == Changed::kGone ? Outcome::kGone : Outcome::kTaken;
  };
  const Changed claimed =
      samples_->change(move.node, samples_->place(move.node).claim_for(move.to));
  if (claimed != Changed::kYes) return outcome_of(claimed);
  const PlaceWord claim = samples_->place(move.node);

  // After the claim, so that of two deciders one at least sees both claims.
  samples_->take_places();
  if (!nodes()[move.node.value].present) return Outcome::kGone;
  if (samples_->place(move.node).changes != claim.changes) return Outcome::kTaken;
  if (!policy_->can_spare(move.from, nodes())) {
    (void)samples_->change(move.node, claim.give_back());
    return Outcome::kKept;
  }
  const Changed confirmed = samples_->change(move.node, claim.confirm());
  if (confirmed != Changed::kYes) return outcome_of(confirmed);
  last_move_ = move;
  return Outcome::kMoved;
}

}  // namespace adaptation
