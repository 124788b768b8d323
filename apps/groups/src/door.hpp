// SPDX-License-Identifier: MIT
// The door of a group: where processes outside find the members, ask to join, and get the state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "door_table.hpp"
#include "groups/group_options.hpp"

namespace groups::detail {

/// All processes of the job, members of the group or not: a DoorTable of the founders, and in an
/// elastic job one of two for each pair with a newcomer in it. The one that came later makes it,
/// with each process that was there, one after the other in the order of their numbers; who was
/// there answers in answer_newcomers(). So nobody waits for one that is not waiting for it, or
/// about to answer, and the pairs of two that come at the same time are made in one order.
///
/// Owner thread only.
class Door {
 public:
  static constexpr std::size_t kRing = DoorTable::kRing;

  /// A collective of the founders; a newcomer waits for each process that is there and lives.
  /// Throws as sst::Table, and Error when options differ.
  Door(sst::TableGroup& group, const GroupOptions& options);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door() = default;

  /// Makes the tables with newcomers that wait for this process, and frees those with newcomers
  /// that are gone. `meanwhile` is called while it waits for one; one that does not answer within
  /// `limit` is called failed. True when there was anything to do.
  bool answer_newcomers(std::chrono::milliseconds limit, const std::function<void()>& meanwhile);

  /// Tells all which view this process is in now.
  void announce(const View& view) noexcept;
  /// The newest view that anybody has told of; id 0 when there is none.
  Known newest() const noexcept;
  /// A member of the newest view that this process can reach, another one for each `ticket`; empty
  /// unless all members of it can be reached.
  std::optional<dsfabric::ProcessId> find_donor(std::uint64_t ticket) const;

  /// What a process asks.
  Ask ask(dsfabric::ProcessId process) const noexcept { return said(process, &DoorRow::ask); }
  /// Of this process.
  void set_ask(const Ask& ask) noexcept {
    mine_.ask = ask;
    say(&DoorRow::ask, ask);
  }
  /// How far it has come.
  Taken taken(dsfabric::ProcessId process) const noexcept { return said(process, &DoorRow::taken); }
  /// Of this process.
  void set_taken(const Taken& taken) noexcept {
    mine_.taken = taken;
    say(&DoorRow::taken, taken);
  }
  /// It failed, as this process believes, and was cut off, or it left the job, or it has not come
  /// to the door.
  bool gone(dsfabric::ProcessId process) const noexcept;

  /// The lane of `donor`, which is not gone, in the memory of this process.
  const std::byte* lane(dsfabric::ProcessId donor) const noexcept;
  /// The word behind that lane.
  std::uint64_t lane_word(dsfabric::ProcessId donor) const noexcept;
  /// Other memory of kRing bytes for one stream, which this process writes a lane from. The device
  /// may still read that of the stream before, late or again after a loss; it is handed out again
  /// when its writes are done. Throws Error when there is no memory.
  void renew_staging() { staging_ = group_.fabric().general_allocator().allocate(kRing); }
  /// That memory.
  std::byte* staging() const noexcept { return staging_.data(); }
  /// Writes bytes of staging() into this process' lane at `to`, at the same place.
  void write(dsfabric::ProcessId to, std::size_t at, std::size_t bytes) noexcept;
  /// Writes the word behind that lane.
  void write_word(dsfabric::ProcessId to, std::uint64_t word) noexcept;

  /// Numbers of processes that have come to the job are below it.
  std::size_t size() const noexcept;
  /// Numbers that processes may have are below it.
  std::size_t capacity() const noexcept { return pairs_.size(); }
  /// This process.
  dsfabric::ProcessId self() const noexcept { return group_.fabric().process(); }

 private:
  /// Where a process' row is; no table: nowhere.
  struct Way {
    DoorTable* table;
    sst::MemberId row;
  };
  Way way(dsfabric::ProcessId process) const noexcept;
  bool is_founder(dsfabric::ProcessId process) const noexcept;
  /// Of the table of this process and another one.
  sst::TableOptions pair_with(dsfabric::ProcessId other) const;
  void meet_all_that_are_there();
  void answer(dsfabric::ProcessId newcomer, std::chrono::milliseconds limit,
              const std::function<void()>& meanwhile);
  void drop(dsfabric::ProcessId gone);

  template <class Value>
  Value said(dsfabric::ProcessId process, sst::Versioned<Value> DoorRow::*field) const noexcept {
    const Way to = way(process);
    return to.table != nullptr ? to.table->rows().get(to.row, field) : Value{};
  }
  template <class Value>
  void say(sst::Versioned<Value> DoorRow::*field, const Value& value) noexcept {
    if (founders_) founders_->rows().set(field, value);
    for (const auto& pair : pairs_) {
      if (pair) pair->rows().set(field, value);
    }
  }

  sst::TableGroup& group_;
  const std::string name_;
  /// Of the options that newcomers know too.
  const std::uint64_t digest_;
  /// Empty before the first stream.
  dtutils::RDMAMemory staging_;
  Saying mine_;
  /// The newest view that newcomers have told of which are gone.
  Known newest_of_gone_;
  /// None at a newcomer.
  std::unique_ptr<DoorTable> founders_;
  /// By process.
  std::vector<std::unique_ptr<DoorTable>> pairs_;
};

}  // namespace groups::detail
