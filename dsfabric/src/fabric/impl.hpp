// SPDX-License-Identifier: MIT
// What a Fabric consists of, in the order in which it is built.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "bootstrap/shared_bootstrap.hpp"
#include "calls/call_tables.hpp"
#include "collectives/collectives.hpp"
#include "collectives/groups.hpp"
#include "collectives/participants.hpp"
#include "collectives/termination.hpp"
#include "dsfabric/config.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/device.hpp"
#include "fabric/attachments.hpp"
#include "fabric/exceptions.hpp"
#include "fabric/thread_starts.hpp"
#include "failure/end_notices.hpp"
#include "failure/failure_detector.hpp"
#include "failure/failures.hpp"
#include "failure/handshakes.hpp"
#include "failure/membership.hpp"
#include "failure/own_failure.hpp"
#include "failure/pending_table.hpp"
#include "mesh/connections.hpp"
#include "mesh/meeting.hpp"
#include "mesh/notice_board.hpp"
#include "mesh/receive_queue.hpp"
#include "mesh/zones.hpp"
#include "messages/control_service.hpp"
#include "messages/message_engine.hpp"
#include "messages/receiver.hpp"
#include "messages/service_threads.hpp"
#include "threads/arrivals.hpp"
#include "threads/service_sleep.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric {

/// Each part is handed what it uses, which stands above it, and ends before that does. Nobody but
/// the Fabric itself holds this.
class Fabric::Impl {
 public:
  /// Joins. A collective of all processes; setup only.
  Impl(Fabric& fabric, const Config& settings, std::unique_ptr<Bootstrap> its_bootstrap);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();
  /// From here on messages arrive and failures are noticed.
  void start();
  /// Leaves the job in good order, if no worker has failed; see ~Fabric.
  void leave() noexcept;
  /// Whether processes may come and go.
  bool elastic() const noexcept { return bootstrap.elastic() != nullptr; }

  // Who is there.
  SharedBootstrap bootstrap;
  std::unique_ptr<dtutils::Device> device;
  dtutils::ProtectionDomain pd;
  Meeting meeting;
  const Members& members;
  const Config config;

  // Connections, and memory. Memory carries tags that point into Transmitters: it ends before them.
  ReceiveQueue receive_queue;
  Connections connections;
  Zones zones;
  Receiver receiver;
  NoticeBoard board;

  // Threads, and who of the peers lives.
  std::atomic<bool> running{false};  // a run() has not returned yet
  PendingTable pending;
  ThreadRegistry threads;
  Arrivals arrivals;
  ServiceSleep service_sleep;
  Failures failures;
  EndNotices end_notices;
  Membership membership;
  Handshakes handshakes;
  OwnFailure own_failure;

  // What threads do with each other.
  MessageEngine messages;
  ControlService control_service;
  const Participants everybody;
  Collectives collectives;
  Termination termination;
  Groups groups;
  const CallTables call_tables;

  // What users have left here.
  Exceptions exceptions;
  Attachments attachments;
  ThreadStarts thread_starts;

  // Threads that serve all this.
  std::optional<FailureDetector> failure_detector;
  std::optional<ServiceThreads> service_threads;

 private:
  /// What leave() waits for, while it serves: the others have left too; in an elastic job, they
  /// have heard of it.
  bool may_go() noexcept;
  void log_membership() const;
};

}  // namespace dsfabric
