// SPDX-License-Identifier: MIT
// How a newcomer to an elastic job and the others find each other's TableGroups: by a call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dsfabric/remote_future.hpp"
#include "dtutils/mutex.hpp"
#include "dtutils/rdma_memory.hpp"
#include "sst/table_group.hpp"

namespace sst::detail {

/// The answer to an introduction.
struct Introduced {
  dtutils::RemoteMemoryLocator mailbox;
  /// The process has made that TableGroup.
  bool there = false;
};

/// The TableGroups of this process, in the order in which they were made, and memory that outlives
/// them: others may write to it as long as the fabric is connected with them. Any thread (takes a
/// lock).
class TableGroups {
 public:
  static std::shared_ptr<TableGroups> of(dsfabric::Fabric& fabric);

  /// The number of the TableGroup: how many were made before it.
  std::uint32_t add(TableGroup& group);
  /// It answers no more.
  void remove(std::uint32_t number);
  void keep(std::vector<dtutils::RDMAMemory> memory);
  /// As TableGroup::introduce, of that number.
  Introduced introduce(std::uint32_t number, dsfabric::ProcessId process,
                       const dtutils::RemoteMemoryLocator& mailbox);
  /// The same at another process, `to`, where this one introduces itself.
  static dsfabric::RemoteFuture<Introduced> call(dsfabric::Fabric& fabric, std::uint32_t number,
                                                 dsfabric::ProcessId to,
                                                 const dtutils::RemoteMemoryLocator& mailbox);

 private:
  dtutils::Mutex mutex_;
  /// nullptr: it has ended.
  std::vector<TableGroup*> groups_;
  std::vector<dtutils::RDMAMemory> kept_;
};

}  // namespace sst::detail
