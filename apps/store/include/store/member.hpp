// SPDX-License-Identifier: MIT
// One process of the store: a member of the group with its clients and its files.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "groups/groups.hpp"
#include "sst/sst.hpp"
#include "store/engine.hpp"
#include "store/server.hpp"

namespace store {

/// What a user may choose about a member; the same at all, but for port and folder.
struct MemberOptions {
  /// Where clients come in.
  Server::Options server = {};
  /// Where it keeps its data; empty: nowhere.
  std::string folder;
  /// Tells stores apart: a folder of another one is refused.
  std::string name = "store";
  /// Bytes of a message of the group.
  std::uint32_t max_message = 65536;
  /// Bytes of a command, or of a transaction, at most.
  std::size_t max_command = 64 << 20;
  /// A command is answered when all members of the view have it on their disks, and not already
  /// when they have it in their memory. Needs a folder.
  bool sync = false;
  /// Bytes of the log after which there is a new checkpoint.
  std::uint64_t checkpoint_every = 256 << 20;
  /// A damaged log is cut where the damage begins, and the rest comes from others.
  bool cut_damage = false;
  /// As groups::GroupOptions::patience.
  std::chrono::milliseconds patience{0};
  /// Another process takes the place of this one when it ends: it does so when it was removed.
  bool replaced = false;
};

/// Owner thread only.
class Member {
 public:
  /// A collective of all processes of the job, of an elastic one its founders: reads what is on the
  /// disks, and agrees with the others where to go on. A newcomer comes to them. Throws
  /// dtutils::Error. Setup only.
  Member(sst::TableGroup& tables, const MemberOptions& options);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member();

  /// A newcomer becomes a member: it gets the state from another one. Then it listens, as founders
  /// do at once. False: `stop` came before. Throws dtutils::Error.
  bool join(const std::atomic<bool>& stop);
  /// Serves until `stop`. False: it was removed, and another process takes its place.
  bool run(const std::atomic<bool>& stop);
  /// Where it listens, once it has joined.
  std::uint16_t port() const noexcept { return server_->port(); }
  /// What STATUS answers: view, members, lag, log.
  std::string status() const;

 private:
  std::unique_ptr<groups::DurableState> open();
  groups::Restart restart(sst::TableGroup& tables);
  std::vector<std::byte> snapshot(std::uint64_t next) const;
  void take_state(std::span<const std::byte> state);
  bool persist();
  bool is_removed() const noexcept;
  void deliver(const groups::Delivery& message);
  void apply(std::span<const std::byte> bytes, bool mine, std::uint64_t view,
             std::uint64_t sequence);
  /// Applies what was waiting until all had it on their disks, below this sequence.
  bool apply_held(std::uint64_t below);
  void send();
  /// Runs reads without messages whose tickets have come, when all that was delivered by then is
  /// applied.
  bool run_reads();
  void watch_group();
  void watch_disk();
  std::string describe(bool status) const;

  /// Delivered, and not on the disks of all (MemberOptions::sync).
  struct Held {
    std::uint64_t view;
    std::uint64_t sequence;
    bool mine;
    std::vector<std::byte> bytes;
  };

  const MemberOptions options_;
  dsfabric::Fabric& fabric_;
  Engine engine_;
  std::deque<Held> held_;
  /// A ticket of reads that may run when messages below this sequence are applied.
  std::uint64_t readable_ = 0;
  std::uint64_t reads_see_ = 0;
  std::unique_ptr<groups::DurableState> durable_;
  std::unique_ptr<groups::OrderedGroup> group_;
  std::unique_ptr<Server> server_;
  sst::Pace pace_;
  groups::GroupState state_ = groups::GroupState::kOutside;
  bool disk_failed_ = false;
  /// What was on the disk of a newcomer is replaced.
  bool took_state_ = false;
};

}  // namespace store
