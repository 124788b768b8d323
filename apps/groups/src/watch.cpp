// SPDX-License-Identifier: MIT
// Watch: beats, and those that do not come.
#include "watch.hpp"

#include <fmt/format.h>

namespace groups::detail {

void Watch::look(ViewTables& tables) {
  if (patience_.count() == 0) return;
  const Clock::time_point now = Clock::now();
  // Whoever did not run cannot say of others that they did not.
  if (now - last_look_ > patience_ / 2) reset();
  last_look_ = now;
  if (now - last_beat_ >= patience_ / 8) {
    last_beat_ = now;
    tables.state.set(&ViewRow::beat, tables.state.mine(&ViewRow::beat) + 1);
  }
  const bool fresh = seen_.size() != tables.size();
  seen_.resize(tables.size());
  for (std::uint16_t row = 0; row < tables.size(); ++row) {
    const std::uint64_t beat = tables.state.get({row}, &ViewRow::beat);
    if (fresh || beat != seen_[row].beat) {
      seen_[row] = {beat, now};
    } else if (row != tables.self() && now - seen_[row].when > patience_ && !tables.frozen(row)) {
      seen_[row].when = now;
      tables.state.group().fabric().fail(
          tables.view.members[row], fmt::format("it showed no progress for {} ms in {}",
                                                patience_.count(), tables.state.options().name));
    }
  }
}

}  // namespace groups::detail
