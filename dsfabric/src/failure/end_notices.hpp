// SPDX-License-Identifier: MIT
// What processes tell each other about their own end, and about whom they have given up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bootstrap/shared_bootstrap.hpp"
#include "dsfabric/ids.hpp"
#include "failure/failures.hpp"
#include "job/members.hpp"
#include "mesh/connections.hpp"
#include "mesh/notice_board.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric {

/// Peers that are connected are told by an EndNotice, a one-sided write into their NoticeBoard; all
/// others by a letter, where the bootstrap carries letters, and otherwise there are no others.
class EndNotices {
 public:
  EndNotices(SharedBootstrap& bootstrap, const Members& members, ThreadRegistry& threads,
             Connections& connections, NoticeBoard& board, Failures& failures) noexcept
      : bootstrap_(bootstrap),
        members_(members),
        threads_(threads),
        connections_(connections),
        board_(board),
        failures_(failures) {}
  EndNotices(const EndNotices&) = delete;
  EndNotices& operator=(const EndNotices&) = delete;

  /// Looks at what the peer has told about its own end, and at its connections. Any thread.
  void check(ProcessId process) noexcept;
  /// The same for all peers that this process has touched. Any thread.
  void check_all() noexcept;
  /// Peers have told this, by whatever way. Any thread.
  void hear(ProcessId process, std::uint64_t state, std::string_view reason) noexcept;
  /// Tells all peers that this process will do no more. Any thread, one at a time.
  void tell(std::uint64_t state, std::string_view reason) noexcept;
  /// Breaks the connections to a peer that was declared failed; where it lives, it learns that. The
  /// failure detector's thread only.
  void part_from(ProcessId process, const std::string& reason) noexcept;

 private:
  /// Calls `visit` for each connected peer that has not failed.
  template <class Visit>
  void for_each_connected(Visit visit) const;

  SharedBootstrap& bootstrap_;
  const Members& members_;
  ThreadRegistry& threads_;
  Connections& connections_;
  NoticeBoard& board_;
  Failures& failures_;
};

}  // namespace dsfabric
