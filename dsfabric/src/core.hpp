// SPDX-License-Identifier: MIT
// What a Fabric consists of, and how messages go through it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attachments.hpp"
#include "bootstrap/bootstrap.hpp"
#include "control_block.hpp"
#include "dsfabric/config.hpp"
#include "dsfabric/fabric.hpp"
#include "dsfabric/message.hpp"
#include "dtutils/device.hpp"
#include "dtutils/general_allocator.hpp"
#include "dtutils/rdma_allocator.hpp"
#include "exceptions.hpp"
#include "failures.hpp"
#include "peer.hpp"
#include "pending_table.hpp"
#include "placement.hpp"
#include "receiver.hpp"
#include "termination.hpp"
#include "thread_registry.hpp"
#include "thread_starts.hpp"

namespace dsfabric {

class CallTables;
class ControlService;
class ServiceThreads;
class Collectives;
class FailureDetector;

/// Memory of one NUMA zone.
struct ZoneMemory {
  ZoneMemory(dtutils::ProtectionDomain& pd, dtutils::NumaZone zone, const Config& config);

  dtutils::RDMAAllocator pages;
  dtutils::GeneralAllocator pieces;
};

/// Thread contracts are those of the methods of Fabric and Thread that end here.
class Core {
 public:
  /// Joins: everything but what needs the Fabric itself, which `start` does. Setup only.
  Core(const Config& config, std::unique_ptr<Bootstrap> bootstrap);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();
  /// From here on messages arrive and failures are noticed.
  void start(Fabric& fabric);
  /// Leaves the job in good order, if no worker has failed; see ~Fabric.
  void leave() noexcept;

  /// Takes messages in and runs those for the thread context.
  bool progress(ThreadContext& context);
  /// Waits until at most this process' other threads stand between a post and the send queue.
  void make_room(ThreadContext& context, dtutils::Transmitter& transmitter);
  /// Called for each message that is sent: a worker takes messages in every few of them. One that
  /// only sends would let its shared receive queue run dry, and whoever sends to it, itself too,
  /// would then wait for the device to try again.
  void keep_up(ThreadContext& context);
  /// Whether nothing is left for a service thread, which has armed the completion queue and said
  /// that it sleeps: what comes from now on wakes it.
  bool nothing_to_serve(ThreadContext& context);

  /// Writes `length` bytes to the block of a peer, at `offset`, from `source` of the private half.
  bool write_control(ThreadContext& context, ProcessId to, std::size_t offset, std::size_t source,
                     std::size_t length) noexcept;
  /// Looks at what the peer has told about its own end, and at its connections.
  void check(ProcessId process) noexcept;
  /// Tells all peers that this process will do no more.
  void tell_end(std::uint64_t state, std::string_view reason) noexcept;
  /// Breaks the connections to a peer that was declared failed; where it lives, it learns that. The
  /// failure detector's thread only.
  void part_from(ProcessId process, const std::string& reason) noexcept;

  dtutils::Transmitter& transmitter(const ThreadContext& context, ProcessId to) noexcept {
    Peer& peer = peers_[to.value];
    return *peer.transmitters[peer.transmitters.size() == 1
                                  ? 0
                                  : context.number % peer.transmitters.size()];
  }
  ZoneMemory& memory(dtutils::NumaZone zone) noexcept;

  const Config& config() const noexcept { return config_; }
  ProcessId self() const noexcept { return self_; }
  std::uint32_t processes() const noexcept { return static_cast<std::uint32_t>(peers_.size()); }
  std::uint32_t machines() const noexcept { return machines_; }
  std::uint32_t total_threads() const noexcept { return total_threads_; }
  Peer& peer(ProcessId process) noexcept { return peers_[process.value]; }
  const std::vector<Peer>& peers() const noexcept { return peers_; }
  dtutils::Device& device() noexcept { return *device_; }
  dtutils::ProtectionDomain& protection_domain() noexcept { return *pd_; }
  const Placement& placement() const noexcept { return placement_; }
  ThreadRegistry& thread_registry() noexcept { return *thread_registry_; }
  Receiver& receiver() noexcept { return *receiver_; }
  PendingTable& pending() noexcept { return pending_; }
  Failures& failures() noexcept { return *failures_; }
  Exceptions& exceptions() noexcept { return exceptions_; }
  ControlBlock& control() noexcept { return *control_; }
  Collectives& collectives() noexcept { return *collectives_; }
  ControlService& control_service() noexcept { return *control_service_; }
  Attachments& attachments() noexcept { return attachments_; }
  ThreadStarts& thread_starts() noexcept { return thread_starts_; }
  Termination& termination() noexcept { return termination_; }
  Fabric& fabric() noexcept { return *fabric_; }
  Bootstrap& bootstrap() noexcept { return *bootstrap_; }
  /// Held while the bootstrap is used: it is for one thread.
  std::mutex& bootstrap_mutex() noexcept { return bootstrap_mutex_; }
  void set_message_handler(MessageKind kind, MessageHandler handler);
  /// What functions are called at each peer (calls/call_tables.hpp). Set once, before run().
  const CallTables& call_tables() const noexcept { return *call_tables_; }
  void set_call_tables(std::shared_ptr<const CallTables> tables) noexcept {
    call_tables_ = std::move(tables);
  }
  /// Most threads that may use one Transmitter at once.
  std::uint32_t sharing_threads() const noexcept { return sharing_threads_; }
  /// This process has told the others that it failed: its end is not in good order.
  void mark_aborted() noexcept { aborted_ = true; }

 private:
  void meet();
  void open_device();
  void make_memory();
  void make_connections();
  /// Of this process' end, as it stands in the private half's place of `kept_at`.
  bool write_notice(ThreadContext& context, ProcessId to, ProcessId kept_at) noexcept;
  void connect();
  void log_membership() const;

  /// What a look for a message found; kElsewhere: another thread is at it.
  enum class Look { kNothing, kTaken, kElsewhere };
  Look take_one(ThreadContext& context);
  bool take_in(ThreadContext& context);
  bool run_inbox(ThreadContext& context, Inbox& inbox);
  bool run_service_inbox(ThreadContext& context);
  void run(ThreadContext& context, ReceiveBuffer& buffer);
  /// The buffer goes back to the Receiver afterwards, also when the message handler throws.
  template <auto kBack>
  void run_then(ThreadContext& context, ReceiveBuffer& buffer);
  /// Empty, or what cannot be right about the header.
  const char* validate_header(const ibv_wc& completion, const MessageHeader& header) const noexcept;
  void report_corrupt(const ibv_wc& completion) noexcept;

  Config config_;
  std::unique_ptr<Bootstrap> bootstrap_;
  std::mutex bootstrap_mutex_;
  const ProcessId self_;
  Fabric* fabric_ = nullptr;
  std::array<MessageHandler, kMessageKinds> handlers_{};
  std::shared_ptr<const CallTables> call_tables_;

  std::unique_ptr<dtutils::Device> device_;
  std::unique_ptr<dtutils::ProtectionDomain> pd_;
  Placement placement_;
  std::vector<std::unique_ptr<ZoneMemory>> zones_;
  std::unique_ptr<ThreadRegistry> thread_registry_;
  std::unique_ptr<Receiver> receiver_;
  std::unique_ptr<ControlBlock> control_;
  std::vector<Peer> peers_;
  std::uint32_t machines_ = 0;
  std::uint32_t total_threads_ = 0;
  std::uint32_t max_threads_ = 0;
  std::uint32_t sharing_threads_ = 0;

  PendingTable pending_;
  std::unique_ptr<Failures> failures_;
  Exceptions exceptions_;
  std::unique_ptr<ControlService> control_service_;
  std::unique_ptr<Collectives> collectives_;
  /// Messages for service threads that were taken in but not run.
  Inbox service_inbox_;
  TryLock service_taking_;
  std::atomic<std::uint32_t> service_waiting_{0};
  bool aborted_ = false;
  Attachments attachments_;
  ThreadStarts thread_starts_;
  Termination termination_{*this};
  // Last, so that their threads end first.
  std::unique_ptr<ServiceThreads> service_threads_;
  std::unique_ptr<FailureDetector> failure_detector_;
};

}  // namespace dsfabric
