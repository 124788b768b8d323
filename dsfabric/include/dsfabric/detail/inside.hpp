// SPDX-License-Identifier: MIT
// How the handles that users make from a Fabric find the one part of it that they stand for.
#pragma once

namespace dsfabric {

class CallTables;
class Connections;
class ControlService;
class Fabric;
class Failures;
class Groups;
class MessageEngine;
class PendingTable;
class Termination;
class ThreadRegistry;

}  // namespace dsfabric

namespace dsfabric::detail {

/// A SendSpace, a PendingReply and so on belong to a part of the fabric, but their users have the
/// Fabric only. Each asks for what it works with, once. For the layer itself. Any thread,
/// wait-free.
class Inside {
 public:
  static ThreadRegistry& threads(Fabric& fabric) noexcept { return *of(fabric).threads_; }
  static Failures& failures(Fabric& fabric) noexcept { return *of(fabric).failures_; }
  static PendingTable& pending(Fabric& fabric) noexcept { return *of(fabric).pending_; }
  static MessageEngine& messages(Fabric& fabric) noexcept { return *of(fabric).messages_; }
  static Connections& connections(Fabric& fabric) noexcept { return *of(fabric).connections_; }
  static ControlService& control_service(Fabric& fabric) noexcept { return *of(fabric).control_; }
  static Termination& termination(Fabric& fabric) noexcept { return *of(fabric).termination_; }
  static Groups& groups(Fabric& fabric) noexcept { return *of(fabric).groups_; }
  static const CallTables& calls(Fabric& fabric) noexcept { return *of(fabric).calls_; }

 private:
  friend class dsfabric::Fabric;
  static const Inside& of(const Fabric& fabric) noexcept;

  ThreadRegistry* threads_ = nullptr;
  Failures* failures_ = nullptr;
  PendingTable* pending_ = nullptr;
  MessageEngine* messages_ = nullptr;
  Connections* connections_ = nullptr;
  ControlService* control_ = nullptr;
  Termination* termination_ = nullptr;
  Groups* groups_ = nullptr;
  const CallTables* calls_ = nullptr;
};

}  // namespace dsfabric::detail
