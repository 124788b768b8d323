// SPDX-License-Identifier: MIT
// Door: its table, finding members, writing lanes.
#include "door.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"

namespace groups::detail {
namespace {

std::uint64_t digest(const GroupOptions& options) noexcept {
  dtutils::Fnv1a sum;
  sum.number(options.max_message).number(options.slots);
  sum.number(static_cast<std::uint64_t>(options.patience.count()));
  sum.number(options.first_view).number(options.first_sequence);
  for (const dsfabric::ProcessId member : options.members) sum.number(member.value);
  sum.number(options.members.size());
  for (const dsfabric::ProcessId sender : options.senders) sum.number(sender.value);
  return sum.value();
}

dtutils::RDMAMemory make_lanes(sst::TableGroup& group) {
  dtutils::RDMAMemory lanes = group.fabric().general_allocator().allocate(
      group.fabric().founders() * Door::kLane + Door::kRing);
  std::memset(lanes.data(), 0, lanes.size());
  return lanes;
}

DoorRow first_row(const dtutils::RDMAMemory& lanes, std::uint64_t digest) {
  return {{}, {}, {}, lanes.remote().address, lanes.rkey(), digest};
}

}  // namespace

Door::Door(sst::TableGroup& group, const GroupOptions& options)
    : Door(group, options, make_lanes(group)) {}

// Its place is taken before the table takes the memory.
Door::Door(sst::TableGroup& group, const GroupOptions& options, dtutils::RDMAMemory lanes)
    : Door(group, options, first_row(lanes, digest(options)), lanes.data(), std::move(lanes)) {}

Door::Door(sst::TableGroup& group, const GroupOptions& options, const DoorRow& row,
           std::byte* place, dtutils::RDMAMemory&& lanes)
    : lanes_(place),
      lkey_(lanes.lkey()),
      table_(group, {.name = options.name + ", door"}, row, std::move(lanes)) {
  for (std::uint16_t i = 0; i < size(); ++i) {
    if (table_.get({i}, &DoorRow::digest) == table_.mine(&DoorRow::digest)) continue;
    throw dtutils::Error(
        fmt::format("group {}", options.name),
        fmt::format("process {} makes it with other options than process {}", i, self().value),
        "give the same options at all processes of the job");
  }
}

void Door::announce(const View& view) noexcept {
  table_.set(&DoorRow::known, Known{view.id, sst::MemberSet(view.members)});
}

Known Door::newest() const noexcept {
  Known newest;
  for (std::uint16_t i = 0; i < size(); ++i) {
    const Known known = table_.get({i}, &DoorRow::known);
    if (known.view > newest.view) newest = known;
  }
  return newest;
}

std::optional<dsfabric::ProcessId> Door::find_donor(std::uint64_t ticket) const {
  const std::vector<dsfabric::ProcessId> members = newest().members.ids();
  for (const dsfabric::ProcessId member : members) {
    if (member == self() || gone(member)) return std::nullopt;
  }
  if (members.empty()) return std::nullopt;
  return members[members.size() - 1 - ticket % members.size()];
}

dtutils::RemoteMemoryLocator Door::lane_at(dsfabric::ProcessId to, std::size_t at,
                                           std::size_t bytes) const noexcept {
  return {table_.get(row(to), &DoorRow::lanes_address) + self().value * kLane + at, bytes,
          static_cast<std::uint32_t>(table_.get(row(to), &DoorRow::lanes_key)), to.value, 0};
}

void Door::write(dsfabric::ProcessId to, std::size_t at, std::size_t bytes) noexcept {
  // When it is broken the fabric finds out why, and calls the process failed.
  (void)table_.group().transmitter(to).write(
      {staging() + at, static_cast<std::uint32_t>(bytes), lkey_}, lane_at(to, at, bytes),
      dtutils::kUnsignaled);
}

void Door::write_word(dsfabric::ProcessId to, std::uint64_t word) noexcept {
  (void)table_.group().write_word(to, lane_at(to, kRing, sizeof word), word);
}

}  // namespace groups::detail
