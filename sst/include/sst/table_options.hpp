// SPDX-License-Identifier: MIT
// What a user may choose about a table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dsfabric/ids.hpp"
#include "sst/member.hpp"

namespace sst {

/// How rows come to the other members (the paper's SST-writes and SST-reads, section 4.2).
enum class Mode : std::uint8_t {
  /// Their owner pushes them by RDMA writes.
  kWrites,
  /// All members fetch them by RDMA reads; the owner only stores.
  kReads,
};

/// What a user may choose about a table. The same at every member.
struct TableOptions {
  /// In the order of rows; empty: all processes of the job, of an elastic one its founders. The
  /// same at every member, and this process is one of them. Newcomers to an elastic job are named.
  std::vector<dsfabric::ProcessId> members = {};
  /// How rows come to the other members.
  Mode mode = Mode::kWrites;
  /// For messages, and to distinguish tables that are equal in all else.
  std::string name = "table";
  /// Asked again and again while the table is made and others have not come; true ends that with an
  /// Error. It may evaluate other tables, and makes none. Empty: no. Need not be the same at every
  /// member.
  std::function<bool()> give_up = {};
};

/// Tells the user that a member has failed.
using FailureUpcall = std::function<void(MemberId member, const std::string& reason)>;

}  // namespace sst
