// SPDX-License-Identifier: MIT
// What the nodes of the workload agreement see, and the rows that they push meanwhile.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sst/sst.hpp"

namespace simulate {

/// What a row has from the beginning.
inline constexpr std::uint64_t kFirstFact = 1'000;

/// What each node has seen; the nodes share it.
struct Course {
  explicit Course(std::uint32_t nodes) : decided(nodes), views(nodes), wishes(nodes) {}
  std::vector<std::vector<std::uint64_t>> decided;
  /// Who took part, as bits, each time that it changed.
  std::vector<std::vector<std::uint64_t>> views;
  /// Values that each has proposed.
  std::vector<std::uint64_t> wishes;
  std::uint32_t started = 0;
  /// All that live come to the end, if all have started.
  bool ends = true;
  std::string violation;

  void violated(std::string how) {
    if (violation.empty()) violation = std::move(how);
  }
};

/// The row that each member pushes, whatever is decided.
struct Facts {
  std::uint64_t count;
  sst::Versioned<std::array<std::uint64_t, 6>> wide;
};

/// The rows of facts, as one node writes and reads them.
class Rows {
 public:
  Rows(sst::TableGroup& group, Course& course)
      : course_(course),
        table_(group, {.name = "facts"}, Facts{kFirstFact, {}}),
        seen_(table_.size()),
        frozen_(table_.size()) {
    look();
  }

  /// Stores the next facts, sometimes two, of which the others need to see the last one only.
  void tell(std::uint64_t random) {
    for (std::uint64_t i = 0; i <= random % 3; ++i) table_.store(&Facts::wide, same(++count_));
    table_.push(&Facts::wide);
    table_.set(&Facts::count, count_);
  }

  void look() {
    for (std::uint16_t i = 0; i < table_.size(); ++i) {
      // Before the row is read: it does not change from then on.
      const bool frozen = table_.frozen({i});
      const std::uint64_t count = table_.get({i}, &Facts::count);
      const auto wide = table_.get({i}, &Facts::wide);
      if (count < kFirstFact) violated(i, "was shown before it was there");
      if (!std::ranges::equal(wide, same(wide[0]))) violated(i, "was shown in parts");
      if (count < seen_[i][0] || wide[0] < seen_[i][1]) violated(i, "went back");
      if (count > kFirstFact && wide[0] < count) violated(i, "shows a push before an earlier one");
      if (frozen_[i] && (count != seen_[i][0] || wide[0] != seen_[i][1])) {
        violated(i, "changed although its member was cut off");
      }
      seen_[i] = {count, wide[0]};
      frozen_[i] = frozen;
    }
  }
  bool frozen(dsfabric::ProcessId process) const { return table_.frozen(*table_.find(process)); }

 private:
  static std::array<std::uint64_t, 6> same(std::uint64_t value) {
    std::array<std::uint64_t, 6> all;
    all.fill(value);
    return all;
  }
  void violated(std::uint16_t row, const char* how) {
    course_.violated(fmt::format("node {}: the row of node {} {}", table_.self().value, row, how));
  }

  Course& course_;
  sst::Table<Facts> table_;
  std::uint64_t count_ = kFirstFact;
  /// Of each row what was seen last, and whether it was frozen then.
  std::vector<std::array<std::uint64_t, 2>> seen_;
  std::vector<bool> frozen_;
};

}  // namespace simulate
