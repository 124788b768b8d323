// SPDX-License-Identifier: MIT
// What processes tell each other about their own end, and about whom they have given up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dsfabric/ids.hpp"
#include "failure/failures.hpp"
#include "job/members.hpp"
#include "mesh/connections.hpp"
#include "mesh/control_blocks.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric {

/// An EndNotice goes into the control block of each peer, by one-sided writes.
class EndNotices {
 public:
  EndNotices(const Members& members, ThreadRegistry& threads, Connections& connections,
             ControlBlocks& control, Failures& failures) noexcept
      : members_(members),
        threads_(threads),
        connections_(connections),
        control_(control),
        failures_(failures) {}
  EndNotices(const EndNotices&) = delete;
  EndNotices& operator=(const EndNotices&) = delete;

  /// Looks at what the peer has told about its own end, and at its connections. Any thread.
  void check(ProcessId process) noexcept;
  /// Tells all peers that this process will do no more. Any thread, one at a time.
  void tell(std::uint64_t state, std::string_view reason) noexcept;
  /// Breaks the connections to a peer that was declared failed; where it lives, it learns that. The
  /// failure detector's thread only.
  void part_from(ProcessId process, const std::string& reason) noexcept;

 private:
  /// Of this process' end, as it stands in the private half's place of `kept_at`.
  bool write(ThreadContext& context, ProcessId to, ProcessId kept_at) noexcept;

  const Members& members_;
  ThreadRegistry& threads_;
  Connections& connections_;
  ControlBlocks& control_;
  Failures& failures_;
};

}  // namespace dsfabric
