// SPDX-License-Identifier: MIT
// A part of the door of a group: rows and lanes of some processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

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

/// What a process says at the door.
struct Saying {
  Known known;
  Ask ask;
  Taken taken;
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

/// A table of some processes of the job, members of the group or not, and *lanes*: in the memory of
/// each one for each of them, a ring of bytes and a word that says how many were written. A
/// donor writes into its own lane at the process that it serves, and nowhere else; so one that was
/// given up, and wakes, disturbs nobody who has taken another donor. Owner thread only.
class DoorTable {
 public:
  /// Bytes of a ring.
  static constexpr std::size_t kRing = 64 << 10;
  /// From lane to lane: a ring and the word behind it.
  static constexpr std::size_t kLane = kRing + sst::kLine;

  /// A collective of `members`, with the same digest of the options. Throws as sst::Table.
  DoorTable(sst::TableGroup& group, sst::TableOptions options, std::uint64_t digest,
            const Saying& first);
  DoorTable(const DoorTable&) = delete;
  DoorTable& operator=(const DoorTable&) = delete;
  ~DoorTable() = default;

  /// Whether that process is making it, and waits for this one.
  static bool is_offered(const sst::TableGroup& group, const sst::TableOptions& options,
                         dsfabric::ProcessId by) noexcept {
    return sst::Table<DoorRow>::is_offered(group, options, by);
  }
  /// A process that made it with other options.
  std::optional<dsfabric::ProcessId> odd() const noexcept;

  /// The rows.
  sst::Table<DoorRow>& rows() noexcept { return table_; }
  const sst::Table<DoorRow>& rows() const noexcept { return table_; }

  /// The lane of that member in the memory of this process.
  const std::byte* lane(sst::MemberId donor) const noexcept { return lanes_ + donor.value * kLane; }
  /// Writes `bytes` at `from`, which is memory registered as `lkey`, into this process' lane there,
  /// from `at` on.
  void write(sst::MemberId to, std::size_t at, std::byte* from, std::size_t bytes,
             std::uint32_t lkey) noexcept;
  /// Writes the word behind that lane.
  void write_word(sst::MemberId to, std::uint64_t word) noexcept;

 private:
  DoorTable(sst::TableGroup& group, sst::TableOptions options, std::uint64_t digest,
            const Saying& first, dtutils::RDMAMemory lanes);
  DoorTable(sst::TableGroup& group, sst::TableOptions options, const DoorRow& row, std::byte* place,
            dtutils::RDMAMemory&& lanes);
  dtutils::RemoteMemoryLocator lane_at(sst::MemberId to, std::size_t at,
                                       std::size_t bytes) const noexcept;

  std::byte* lanes_;
  sst::Table<DoorRow> table_;
};

}  // namespace groups::detail
