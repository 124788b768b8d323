// SPDX-License-Identifier: MIT
// DoorTable: its rows, writing lanes.
#include "door_table.hpp"

#include <cstring>
#include <utility>

namespace groups::detail {
namespace {

dtutils::RDMAMemory make_lanes(sst::TableGroup& group, std::size_t members) {
  dtutils::RDMAMemory lanes =
      group.fabric().general_allocator().allocate(members * DoorTable::kLane);
  std::memset(lanes.data(), 0, lanes.size());
  return lanes;
}

DoorRow first_row(const dtutils::RDMAMemory& lanes, std::uint64_t digest, const Saying& first) {
  DoorRow row{{}, {}, {}, lanes.remote().address, lanes.rkey(), digest};
  row.known.store(first.known);
  row.ask.store(first.ask);
  row.taken.store(first.taken);
  return row;
}

/// All processes that the table is made for, where none are named.
std::size_t members_of(const sst::TableGroup& group, const sst::TableOptions& options) {
  return options.members.empty() ? group.fabric().founders() : options.members.size();
}

}  // namespace

DoorTable::DoorTable(sst::TableGroup& group, sst::TableOptions options, std::uint64_t digest,
                     const Saying& first)
    : DoorTable(group, options, digest, first, make_lanes(group, members_of(group, options))) {}

// Its place is taken before the table takes the memory.
DoorTable::DoorTable(sst::TableGroup& group, sst::TableOptions options, std::uint64_t digest,
                     const Saying& first, dtutils::RDMAMemory lanes)
    : DoorTable(group, std::move(options), first_row(lanes, digest, first), lanes.data(),
                std::move(lanes)) {}

DoorTable::DoorTable(sst::TableGroup& group, sst::TableOptions options, const DoorRow& row,
                     std::byte* place, dtutils::RDMAMemory&& lanes)
    : lanes_(place), table_(group, std::move(options), row, std::move(lanes)) {}

std::optional<dsfabric::ProcessId> DoorTable::odd() const noexcept {
  for (std::uint16_t i = 0; i < table_.size(); ++i) {
    if (table_.get({i}, &DoorRow::digest) != table_.mine(&DoorRow::digest)) {
      return table_.process({i});
    }
  }
  return std::nullopt;
}

dtutils::RemoteMemoryLocator DoorTable::lane_at(sst::MemberId to, std::size_t at,
                                                std::size_t bytes) const noexcept {
  return {table_.get(to, &DoorRow::lanes_address) + table_.self().value * kLane + at, bytes,
          static_cast<std::uint32_t>(table_.get(to, &DoorRow::lanes_key)), table_.process(to).value,
          0};
}

void DoorTable::write(sst::MemberId to, std::size_t at, std::byte* from, std::size_t bytes,
                      std::uint32_t lkey) noexcept {
  // When it is broken the fabric finds out why, and calls the process failed.
  (void)table_.group()
      .transmitter(table_.process(to))
      .write({from, static_cast<std::uint32_t>(bytes), lkey}, lane_at(to, at, bytes),
             dtutils::kUnsignaled);
}

void DoorTable::write_word(sst::MemberId to, std::uint64_t word) noexcept {
  (void)table_.group().write_word(table_.process(to), lane_at(to, kRing, sizeof word), word);
}

}  // namespace groups::detail
