// SPDX-License-Identifier: MIT
// What processes ask of each other: memory, and the values of names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dsfabric/message.hpp"
#include "dtutils/rdma_memory.hpp"
#include "failure/failures.hpp"
#include "job/job_limits.hpp"
#include "job/members.hpp"
#include "mesh/zones.hpp"
#include "messages/message_engine.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric {

/// Payload of a message of kind kControl. An answer carries the slot and ticket of its request.
struct ControlRecord {
  enum class What : std::uint8_t { kAllocate, kFree, kPublish, kLookup, kAnswer };
  static constexpr std::uint16_t kDefaultZone = 0xffff;

  What what;
  /// Of an answer: it was done.
  std::uint8_t good;
  std::uint16_t zone;
  std::uint32_t slot;
  std::uint64_t ticket;
  /// To allocate: bytes. To free, and in the answer to allocate: the handle.
  std::uint64_t number;
  /// At a whole word, as what it often is: a locator, whose address a simulation does not digest.
  std::byte value[Fabric::kMaxNamedValue];
  std::uint8_t name_length;
  std::uint8_t value_length;
  char name[Fabric::kMaxName];
};
static_assert(std::is_trivially_copyable_v<ControlRecord> &&
              std::is_standard_layout_v<ControlRecord> && sizeof(ControlRecord) == 160);
static_assert(sizeof(ControlRecord) + sizeof(MessageHeader) <= kInlineMessage);
static_assert(sizeof(dtutils::RemoteMemoryLocator) <= Fabric::kMaxNamedValue);

/// Both sides of the control messages. A name is kept by one process, found by its hash. Memory
/// that a process was given here is taken back when that process fails.
///
/// All this rests on failed(), the belief of this process about one peer, and on nothing that
/// others believe:
///
///  - A request ends by its answer, or by PeerFailed when this process believes that the peer has
///    failed. It may have been done all the same: the answer was lost. A name may then be
///    published; memory that was given is taken back when the peer learns that it was given up.
///  - Memory of a process that is believed dead goes back to the allocator after the queue pairs to
///    it are broken, so that one which wakes up does not write into what others were given since.
///    This fence is for that process alone: a third one that it told the locator may still write,
///    until it believes the same and stops. Who passes locators on, keeps the memory until all who
///    know it are done, or have failed.
///  - What such a process has asked before, and is run only afterwards, gives it no memory. A name
///    that it published stays, with its last value.
///  - Names do not move: while their keeper is believed dead by one process and alive for another,
///    they are found by the other.
class ControlService {
 public:
  /// Takes over the messages of kind kControl, and the failures of owners. It sends through
  /// `fabric`, and gives memory of `zones`. Setup only.
  ControlService(Fabric& fabric, const Members& members, Zones& zones, ThreadRegistry& threads,
                 Failures& failures, MessageEngine& messages);
  ControlService(const ControlService&) = delete;
  ControlService& operator=(const ControlService&) = delete;

  /// As the methods of Fabric; any thread, not inside a message handler.
  RemoteMemory allocate(ProcessId owner, std::size_t bytes, std::optional<dtutils::NumaZone> zone);
  void free(ProcessId owner, std::uint64_t handle) noexcept;
  void publish(std::string_view name, std::span<const std::byte> value);
  std::optional<std::vector<std::byte>> lookup(std::string_view name);

 private:
  /// A request that waits for its answer.
  struct Slot {
    /// 0: free. Every request has another one, so that a late answer finds nobody.
    std::uint64_t ticket = 0;
    bool answered = false;
    ControlRecord answer;
  };

  bool handle(const Incoming& message);
  bool send(ProcessId to, const ControlRecord& record);
  ControlRecord send_request(ProcessId to, ControlRecord request, std::string_view during);
  ControlRecord named(ControlRecord::What what, std::string_view name) const;
  ProcessId keeper_of(std::string_view name) const noexcept;
  ControlRecord allocate_for(const ControlRecord& request, ProcessId to);

  Fabric& fabric_;
  const Members& members_;
  Zones& zones_;
  ThreadRegistry& threads_;
  Failures& failures_;
  MessageEngine& messages_;
  std::mutex mutex_;
  Slot slots_[kReplySlots];
  std::uint64_t tickets_ = 0;
  struct Allocation {
    ProcessId to;
    dtutils::RDMAMemory memory;
  };
  std::map<std::uint64_t, Allocation> allocations_;
  std::map<std::string, std::vector<std::byte>, std::less<>> names_;
};

}  // namespace dsfabric
