// SPDX-License-Identifier: MIT
// ReadRounds: asking, answering, counting answers.
#include "read_rounds.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace groups::detail {

bool ReadRounds::ask(ViewTables& view) noexcept {
  if (asked_ == wanted_) return false;
  asked_ = wanted_;
  view.state.set(&ViewRow::asked, asked_);
  return true;
}

bool ReadRounds::evaluate(ViewTables& view) noexcept {
  const bool answered = answer(view);
  if (confirmed_ == ready_ && asked_ != ready_) {
    confirmed_ = std::max(ready_, seen_by_majority(view));
    end_ = view.messages.table().mine(&sst::MulticastRow::received);
  }
  if (confirmed_ == ready_ || view.messages.delivered() < end_) return answered;
  ready_ = confirmed_;
  return true;
}

bool ReadRounds::answer(ViewTables& view) noexcept {
  bool any = false;
  for (std::uint16_t row = 0; row < view.size(); ++row) {
    const sst::MemberId member{row};
    const std::uint64_t asked = view.state.get(member, &ViewRow::asked);
    if (row == view.self() || asked == view.state.mine(&ViewRow::seen, row)) continue;
    any = true;
    view.state.store(&ViewRow::seen, row, asked);
    view.state.push_to(member, &ViewRow::seen, row);
  }
  return any;
}

std::uint64_t ReadRounds::seen_by_majority(const ViewTables& view) const noexcept {
  std::array<std::uint64_t, kMaxGroupMembers> seen;
  for (std::uint16_t row = 0; row < view.size(); ++row) {
    seen[row] = row == view.self()
                    ? asked_
                    : view.state.get(sst::MemberId{row}, &ViewRow::seen, view.self());
  }
  const auto least = seen.begin() + static_cast<std::ptrdiff_t>(view.size() / 2);
  std::nth_element(seen.begin(), least, seen.begin() + static_cast<std::ptrdiff_t>(view.size()),
                   std::greater<>());
  return *least;
}

}  // namespace groups::detail
