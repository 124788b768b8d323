// SPDX-License-Identifier: MIT
// Closing connections in agreement with the peer, where there are more than Config wants; and those
// to members that are gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "bootstrap/shared_bootstrap.hpp"
#include "dsfabric/ids.hpp"
#include "dtutils/clock.hpp"
#include "failure/failures.hpp"
#include "failure/letter.hpp"
#include "job/members.hpp"
#include "mesh/connections.hpp"

namespace dsfabric {

/// A process that has more than Config::max_connections connections closes those whose last use is
/// longest ago, of the ones that nobody uses just now, and that are not pinned (Connections::of):
///
///     process that has too many                    peer
///       |  stops new uses; what was posted ends      |
///       |  ---- farewells, on the queue pairs ---->  |
///       |  --------------- kClose -------------->    |    the same, when it has no use for it
///       |                                            |    either; takes all up to the farewells
///       |  <--- farewells, on the queue pairs -----  |
///       |  <-------------- kClosed --------------    |    closes
///       takes all up to the farewells, closes        |
///
/// Or the peer answers kKeep, and both go on: because it uses the connection, has pinned it, leaves
/// the job, or something that was posted does not end in time. When both propose at once, each
/// takes the proposal of the other for the answer. Who wants to use a connection that has been
/// stopped waits; he is counted as a user from then on, so that it is not closed again before he
/// has used it, and an offer (Handshakes) follows the last letter of the closing.
///
/// Nothing is lost or reordered: a queue pair is reset when all that both sides have posted has
/// ended, and the farewell, which is behind it all, has been taken from the receive queue. A number
/// tells it from the farewell of a closing that was refused. A peer that ends meanwhile ends the
/// closing as it ends a handshake. Model: tests/dsfabric/model/closing.pml.
///
/// A member of an elastic job that is gone is not asked: what it held here is freed when its device
/// does not answer any more, and nobody uses the connection.
///
/// All under the lock of Handshakes.
class Closings {
 public:
  /// Setup only.
  Closings(SharedBootstrap& bootstrap, std::uint32_t limit, const Members& members,
           Connections& connections, Failures& failures) noexcept
      : bootstrap_(bootstrap),
        limit_(limit),
        members_(members),
        connections_(connections),
        failures_(failures) {}
  Closings(const Closings&) = delete;
  Closings& operator=(const Closings&) = delete;

  /// `take` takes in the messages that have come, without running any. Before the first closing;
  /// setup only.
  void on_take(std::function<void()> take) { take_ = std::move(take); }

  /// Connected processes that have not ended, without this one. Any thread.
  std::uint32_t count() const noexcept;
  /// Proposes to close as many as there are too many.
  void keep_limit();
  /// The connection was stopped, and the peer has not answered.
  bool proposed(ProcessId to) const noexcept {
    const auto found = peers_.find(to);
    return found != peers_.end() && found->second.proposed;
  }

  /// Letters of the peer; `leaving`: nothing is closed any more. True: the connection is closed.
  /// They throw Error when that makes no sense, or fails.
  bool hear_close(ProcessId from, std::uint64_t number, bool leaving);
  bool hear_closed(ProcessId from, std::uint64_t number);
  void hear_keep(ProcessId from);

  /// Frees what a member that is gone has here, but queue pairs that were handed out (pinned),
  /// which stay broken. False: try again later.
  bool free(ProcessId gone) noexcept;

 private:
  struct Peer {
    bool proposed = false;
    /// It has refused, or could not be asked: not asked again before.
    dtutils::Clock::time_point again{};
  };

  bool propose(ProcessId to);
  void put_off(ProcessId process);
  void require_proposed(ProcessId from) const;
  /// False: the farewells did not come within `limit`.
  bool take_until_farewell(ProcessId from, std::uint64_t number, std::chrono::milliseconds limit);
  /// The peer sends nothing any more.
  void close(ProcessId process, std::uint64_t number);
  void send(ProcessId to, LetterKind kind, std::uint64_t number = 0);

  SharedBootstrap& bootstrap_;
  const std::uint32_t limit_;
  const Members& members_;
  Connections& connections_;
  Failures& failures_;
  std::function<void()> take_;
  std::map<ProcessId, Peer> peers_;
  /// Of the last farewell.
  std::uint64_t number_ = 0;
};

}  // namespace dsfabric
