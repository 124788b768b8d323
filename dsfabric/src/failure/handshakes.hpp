// SPDX-License-Identifier: MIT
// Connecting with a process on first use.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/shared_bootstrap.hpp"
#include "dsfabric/config.hpp"
#include "dsfabric/ids.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/mutex.hpp"
#include "dtutils/wake_fd.hpp"
#include "failure/closings.hpp"
#include "failure/end_notices.hpp"
#include "failure/failures.hpp"
#include "failure/membership.hpp"
#include "job/bytes.hpp"
#include "job/members.hpp"
#include "mesh/connections.hpp"
#include "mesh/notice_board.hpp"

namespace dsfabric {

/// Two processes connect by letters:
///
///     process that begins                    peer
///       |  ------------- kOffer ------------>  |    makes its queue pairs, connects them
///       |  <------- kOffer, kReady ----------  |
///       |  ------------- kReady ------------>  |    hands its Transmitters out
///       hands its Transmitters out
///
/// Each sends its offer once, unasked or on that of the other; connects when the other's offer has
/// come; says so; and hands its Transmitters out when the other has said so. So nothing is posted
/// to queue pairs that are not connected, and it does not matter who begins, or whether both do at
/// once (tests/dsfabric/model/handshake.pml).
///
/// A handshake ends with the peer: by its death, by its end in good order, or because it has not
/// answered within Config::start_timeout and is then declared failed. That is a belief of this
/// process, which rests on failed() alone. A peer that was only stopped hears of it when it wakes
/// up, and believes the same of this process; until then nothing of it arrives here, for no queue
/// pair is connected with it after it was given up.
///
/// When who carries the letters has ended, processes that are connected go on, and each other one
/// is declared failed when it would be connected with.
///
/// Who leaves first lets its handshakes end, and answers no offer from then on: so a peer either
/// has its notice in memory, or has nothing that breaks when it goes, and waits for its letter.
///
/// Connections that are too many are closed again (closings.hpp), after which the next use begins
/// anew.
///
/// Letters are read by the failure detector's thread, so that a process answers while its workers
/// compute, and by whoever waits here, so that an upcall may be the first one to use a process.
/// Where the bootstrap carries no letters, all processes connect when they join. Any thread (takes
/// a lock), where nothing else is said.
class Handshakes final : public FirstUse {
 public:
  using Locator = dtutils::RemoteMemoryLocator;

  /// Takes start_timeout and max_connections of `config`. Throws Error when no descriptors are
  /// left. Setup only.
  Handshakes(SharedBootstrap& bootstrap, const Config& config, const Members& members,
             Connections& connections, NoticeBoard& board, Failures& failures, EndNotices& notices,
             Membership& membership);
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  /// Every peer is told where `block` is, and `theirs` gets what it tells, before its Transmitters
  /// are handed out. Before the first handshake; setup only.
  void tell_block(const Locator& block, std::function<void(ProcessId, const Locator&)> theirs);
  /// `take` takes in the messages that have come, without running any. Before the first handshake;
  /// setup only.
  void on_take(std::function<void()> take) { closings_.on_take(std::move(take)); }
  /// Connects with all processes, where the bootstrap carries no letters. A collective of all
  /// processes; throws Error; setup only.
  void connect_all();

  void begin(ProcessId with) noexcept override;
  void finish(ProcessId with) noexcept override;
  /// Reads letters, obituaries, and the events of an elastic job.
  void hear() noexcept;
  /// Closes connections that are too many.
  void keep_limit() noexcept;
  /// Processes that this one is connected with, and that have not ended, without this one.
  std::uint32_t connected() const noexcept { return closings_.count(); }
  /// Frees what a member of an elastic job that is gone has here. False: try again later.
  bool free(ProcessId gone) noexcept;
  /// Waits until whoever was about to connect with a process that was declared failed is through:
  /// all others see that it has failed.
  void fence() noexcept;
  /// Lets handshakes that have begun end, but waits no longer than `limit`. From then on nothing
  /// connects.
  void leave(std::chrono::milliseconds limit) noexcept;
  /// From here on nothing connects, since nobody would answer.
  void close() noexcept;

 private:
  /// How far the handshake with a peer has come.
  struct Progress {
    bool offered = false;
    bool connected = false;
    /// The last letter of the peer has come: it has ended. Its notice may come earlier.
    bool ended = false;
  };

  /// Reads letters until `done()`, which is asked under the lock. False: `limit` has passed before.
  template <class Done>
  bool hear_until(Done done, std::chrono::milliseconds limit);

  // All under the lock.
  void hear_locked() noexcept;
  bool in_progress(ProcessId with) const noexcept;
  bool in_progress() const noexcept;
  /// No more letters come: those that wait for one would wait in vain.
  void end_letters() noexcept;
  void give_up(ProcessId process) noexcept;
  void handle(ProcessId from, std::span<const std::byte> letter) noexcept;
  void begin_locked(ProcessId with) noexcept;
  /// The connection is closed: the next use begins with an offer.
  void forget(ProcessId with) noexcept;
  void offer(ProcessId to);
  /// Makes the Transmitters, and says what the peer needs to know.
  ByteWriter prepare(ProcessId to);
  /// Connects with what the peer needs this process to know.
  void connect(ProcessId from, ByteReader& offer);
  void send(ProcessId to, const ByteWriter& letter) { bootstrap_.send(to.value, letter.bytes()); }

  SharedBootstrap& bootstrap_;
  const std::chrono::milliseconds patience_;
  const Members& members_;
  Connections& connections_;
  NoticeBoard& board_;
  Failures& failures_;
  EndNotices& notices_;
  Membership& membership_;
  Closings closings_;
  Locator block_;
  std::function<void(ProcessId, const Locator&)> theirs_;

  /// Who is in hear_until(), and what wakes them when the failure detector's thread has heard.
  std::atomic<std::uint32_t> hearers_{0};
  dtutils::WakeFd heard_;
  dtutils::Mutex mutex_;
  std::map<ProcessId, Progress> progress_;
  /// Whom this process could not connect with, and why, while the letters behind the offer are
  /// heard: a peer that has ended says so there.
  std::vector<std::pair<ProcessId, std::string>> unreachable_;
  bool closed_ = false;
  bool letters_have_ended_ = false;
};

}  // namespace dsfabric
