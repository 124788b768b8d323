// SPDX-License-Identifier: MIT
// ViewTables: making the tables of a view.
#include "view_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace groups::detail {
namespace {

std::string name_of(const GroupOptions& options, const View& view, std::uint64_t attempt,
                    const char* part) {
  return fmt::format("{}, view {}.{}, {}", options.name, view.id, attempt, part);
}

sst::MulticastOptions multicast_options(const GroupOptions& options, const View& view,
                                        std::uint64_t attempt, std::function<bool()> give_up) {
  // When no sender is left all have a ring, which is what sst does with no names.
  std::vector<dsfabric::ProcessId> senders;
  std::copy_if(view.members.begin(), view.members.end(), std::back_inserter(senders),
               [&](dsfabric::ProcessId member) {
                 return options.senders.empty() ||
                        std::find(options.senders.begin(), options.senders.end(), member) !=
                            options.senders.end();
               });
  return {.members = view.members,
          .senders = std::move(senders),
          .order = sst::Order::kByTurns,
          .max_message = options.max_message,
          .slots = options.slots,
          .name = name_of(options, view, attempt, "messages"),
          .give_up = std::move(give_up)};
}

}  // namespace

ViewTables::ViewTables(sst::TableGroup& group, const GroupOptions& options, const View& of,
                       std::uint64_t number, Take take, std::function<bool()> give_up)
    : view(of),
      attempt(number),
      state(group, {.members = of.members,
                    .name = name_of(options, of, number, "members"),
                    .give_up = give_up}),
      messages(group, multicast_options(options, of, number, give_up), std::move(take)),
      agreement(
          group,
          {.members = of.members,
           .name = name_of(options, of, number, "decisions"),
           .give_up = give_up},
          [this](std::uint64_t, const Decision& decision) { decisions.push_back(decision); }) {}

ViewTables::~ViewTables() {
  say([](Standing& mine) { mine.parted = true; });
}

std::optional<std::uint16_t> ViewTables::find(dsfabric::ProcessId process) const noexcept {
  const std::optional<sst::MemberId> member = state.find(process);
  return member ? std::optional(member->value) : std::nullopt;
}

std::uint64_t ViewTables::included() const noexcept {
  std::uint64_t rows = 0;
  for (std::uint16_t row = 0; row < size(); ++row) {
    if (agreement.includes(view.members[row])) rows |= bit(row);
  }
  return rows;
}

bool ViewTables::is_majority(std::uint64_t rows) const noexcept {
  return 2 * static_cast<std::size_t>(std::popcount(rows)) > size();
}

}  // namespace groups::detail
