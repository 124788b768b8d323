// SPDX-License-Identifier: MIT
// The door of a group: where processes outside find the members, ask to join, and get the state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "groups/group_options.hpp"
#include "sst/member.hpp"
#include "sst/table.hpp"

namespace groups::detail {

/// What a process asks of a member.
struct Ask {
  /// Grows with each request of the process.
  std::uint64_t ticket = 0;
  /// Whom it asks; `wanted` false: nobody.
  std::uint16_t donor = 0;
  bool wanted = false;
};

/// The last view that a process is in, or that it left by.
struct Known {
  std::uint64_t view = 0;
  sst::MemberSet members;
};

/// How far a process has taken in the state of a request.
struct Taken {
  std::uint64_t ticket = 0;
  std::uint64_t bytes = 0;
};

/// A process' row at the door.
struct DoorRow {
  sst::Versioned<Known> known;
  sst::Versioned<Ask> ask;
  sst::Versioned<Taken> taken;
  /// Where its lanes are, and the key that they are written with.
  std::uint64_t lanes_address;
  std::uint64_t lanes_key;
  /// Of the options.
  std::uint64_t digest;
};

/// A table of all processes of the job, members or not, and *lanes*: in the memory of each process
/// one for each other process, a ring of bytes and a word that says how many were written. A donor
/// writes into its own lane at the process that it serves, and nowhere else; so one that was given
/// up, and wakes, disturbs nobody who has taken another donor. Owner thread only.
class Door {
 public:
  /// Bytes of a ring.
  static constexpr std::size_t kRing = 64 << 10;
  /// From lane to lane: a ring and the word behind it.
  static constexpr std::size_t kLane = kRing + sst::kLine;

  /// A collective of all processes of the job. Throws as sst::Table, and Error when options differ.
  Door(sst::TableGroup& group, const GroupOptions& options);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door() = default;

  /// Tells all which view this process is in now.
  void announce(const View& view) noexcept;
  /// The newest view that anybody has told of; id 0 when there is none.
  Known newest() const noexcept;
  /// A member of the newest view that this process can reach, another one for each `ticket`; empty
  /// unless all members of it can be reached.
  std::optional<dsfabric::ProcessId> find_donor(std::uint64_t ticket) const;

  /// What a process asks.
  Ask ask(dsfabric::ProcessId process) const noexcept {
    return table_.get(row(process), &DoorRow::ask);
  }
  /// Of this process.
  void set_ask(const Ask& ask) noexcept { table_.set(&DoorRow::ask, ask); }
  /// How far it has come.
  Taken taken(dsfabric::ProcessId process) const noexcept {
    return table_.get(row(process), &DoorRow::taken);
  }
  /// Of this process.
  void set_taken(const Taken& taken) noexcept { table_.set(&DoorRow::taken, taken); }
  /// It failed, as this process believes, and was cut off, or it left the job.
  bool gone(dsfabric::ProcessId process) const noexcept { return table_.frozen(row(process)); }

  /// The lane of `donor` in the memory of this process.
  const std::byte* lane(dsfabric::ProcessId donor) const noexcept {
    return lanes_ + donor.value * kLane;
  }
  /// Memory of kRing bytes that this process writes lanes from.
  std::byte* staging() const noexcept { return lanes_ + table_.size() * kLane; }
  /// Writes bytes of staging() into this process' lane at `to`, at the same place.
  void write(dsfabric::ProcessId to, std::size_t at, std::size_t bytes) noexcept;
  /// Writes the word behind that lane.
  void write_word(dsfabric::ProcessId to, std::uint64_t word) noexcept;

  /// Processes of the job.
  std::size_t size() const noexcept { return table_.size(); }
  /// This process.
  dsfabric::ProcessId self() const noexcept { return table_.process(table_.self()); }

 private:
  Door(sst::TableGroup& group, const GroupOptions& options, dtutils::RDMAMemory lanes);
  Door(sst::TableGroup& group, const GroupOptions& options, const DoorRow& row, std::byte* place,
       dtutils::RDMAMemory&& lanes);
  static sst::MemberId row(dsfabric::ProcessId process) noexcept { return {process.value}; }
  dtutils::RemoteMemoryLocator lane_at(dsfabric::ProcessId to, std::size_t at,
                                       std::size_t bytes) const noexcept;

  std::byte* lanes_;
  std::uint32_t lkey_;
  sst::Table<DoorRow> table_;
};

}  // namespace groups::detail
