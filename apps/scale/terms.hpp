// SPDX-License-Identifier: MIT
// Closed forms: what something takes by the model of the network, as a sum of what it is made of.
#pragma once

#include <chrono>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "dtutils/simulation.hpp"

namespace scale {

/// A sum of times in ns, each with the name of what takes it.
class Terms {
 public:
  Terms& add(std::string_view name, double ns) {
    for (auto& [known, sum] : terms_) {
      if (known == name) return sum += ns, *this;
    }
    terms_.emplace_back(name, ns);
    return *this;
  }
  Terms& times(double factor) noexcept {
    for (auto& [name, ns] : terms_) ns *= factor;
    return *this;
  }
  double total() const noexcept {
    return std::accumulate(terms_.begin(), terms_.end(), 0.0,
                           [](double sum, const auto& term) { return sum + term.second; });
  }
  const std::vector<std::pair<std::string_view, double>>& all() const noexcept { return terms_; }

 private:
  std::vector<std::pair<std::string_view, double>> terms_;
};

/// Closed forms over one model and number of nodes.
class ClosedForm {
 public:
  ClosedForm(const dtutils::NetworkModel& model, std::uint32_t nodes) noexcept
      : model_(model), nodes_(nodes) {}

  /// Rounds in which each node raises a flag of a few others (dissemination).
  Terms barrier() const;
  /// Rounds in which each node writes what it has to a few others, then a flag (Bruck et al.).
  Terms all_gather() const;
  /// Messages along a binomial tree.
  Terms broadcast() const;
  /// Two waves of counts that agree.
  Terms termination() const;
  /// One thread posts a write to each of the others.
  Terms push() const;
  /// The same, and the last of them sees it.
  Terms detection() const;
  /// Each node writes `bytes` to each other one.
  Terms all_to_all(std::uint32_t bytes) const;
  /// The share of one rollout in the time of all nodes, of which `window` are under way for each
  /// node: `calls` from node to node, which wait for the playouts of others there, and `playout`.
  Terms rollout(std::uint32_t window, double calls, std::chrono::nanoseconds playout) const;

 private:
  /// Visits each round of a collective: its stride, and how many partners it has.
  template <class Visit>
  void for_each_round(Visit visit) const;
  /// From the end of the post until so many bytes are in the memory of another node, at another
  /// switch if it is `far`, and a thread there looks.
  void add_flight(Terms& terms, double bytes, bool far) const;
  /// To the farthest node.
  void add_flight(Terms& terms, double bytes) const {
    add_flight(terms, bytes, nodes_ > model_.ports);
  }
  double wire(double bytes) const noexcept;

  const dtutils::NetworkModel& model_;
  const double nodes_;
};

}  // namespace scale
