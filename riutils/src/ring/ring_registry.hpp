// SPDX-License-Identifier: MIT
// All ring sets of a process, and what service threads do for senders elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dsfabric/call_context.hpp"
#include "dsfabric/termination.hpp"
#include "riutils/ring_set.hpp"

namespace riutils {

/// What a sender asks for; runs on a service thread of the receiver's process.
struct GrantRequest {
  std::uint16_t receiver;
  detail::RingKind kind;
  std::uint32_t chunk_bytes;
  std::uint32_t chunks;
  dtutils::RemoteMemoryLocator consumed_word;
};

/// One a process, kept by its fabric. Counts the calls through rings for the end of a computation.
/// Any thread, except the methods of the ledger.
class RingRegistry final : public dsfabric::CallLedger {
 public:
  explicit RingRegistry(dsfabric::Fabric& fabric);
  ~RingRegistry() override;
  static std::shared_ptr<RingRegistry> of(dsfabric::Fabric& fabric);

  RingSet& at(std::uint32_t worker) noexcept { return *all_[worker]; }
  /// Allocates chunks where the receiver lives and tells it. A Grant of 0 chunks: no memory, or the
  /// request makes no sense.
  detail::Grant grant(dsfabric::CallContext& call, const GrantRequest& request);

  void flush(dsfabric::Thread& worker) noexcept override;
  dsfabric::CallCount count(dsfabric::Thread& worker,
                            std::span<const dsfabric::ProcessId> processes) override;
  void work_ended(dsfabric::Thread& worker) noexcept override;

 private:
  /// Lets a worker of this process open its ring set, when it next makes progress: it may run a
  /// program that makes no calls of its own.
  void open(dsfabric::ThreadId worker);

  dsfabric::Fabric& fabric_;
  std::vector<std::unique_ptr<RingSet>> all_;
};

}  // namespace riutils
