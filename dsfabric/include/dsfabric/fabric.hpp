// SPDX-License-Identifier: MIT
// The fabric: this process' view of the job, its connections to all others and what arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsfabric/config.hpp"
#include "dsfabric/detail/inside.hpp"
#include "dsfabric/ids.hpp"
#include "dsfabric/join.hpp"
#include "dsfabric/member_upcalls.hpp"
#include "dsfabric/message.hpp"
#include "dsfabric/process_info.hpp"
#include "dsfabric/remote_memory.hpp"
#include "dtutils/device.hpp"
#include "dtutils/general_allocator.hpp"
#include "dtutils/rdma_allocator.hpp"
#include "dtutils/transmitter.hpp"

namespace dsfabric {

class Bootstrap;
class CallLedger;
class Thread;
struct CallContext;
namespace detail {
class FunctionTable;
}  // namespace detail

/// One per process and job, made by join(). It connects processes that use each other, hands
/// out registered memory, carries messages, and watches the peers.
///
/// Threads: *workers*, started by run(), have a ThreadId and are known to all; *service threads*
/// run service messages and sleep when idle; one *failure detector's thread* checks that idle peers
/// still live; any other thread of the process may send and use one-sided operations, but no
/// message can name it.
///
/// Destruction leaves the job in order: it waits until the others leave too or have failed, at most
/// for Config::leave_timeout, serving their requests meanwhile. All Threads, SendSpaces and
/// RemoteMemory are gone by then.
class Fabric {
 public:
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  ~Fabric();

  // --- who is where -------------------------------------------------------------------------
  /// This process. Any thread, wait-free, as all of these. They never change, except in an elastic
  /// job, where processes() and machines() grow.
  ProcessId process() const noexcept;
  /// Number of processes of the job; of an elastic one, numbers that were given so far, which are
  /// not used again. state() tells who of them is there; who has not come yet has no workers.
  std::uint32_t processes() const noexcept;
  /// Number of processes that started the job: all, unless it is elastic. They have its first
  /// numbers, and they alone take part in the collectives, broadcasts and exchanges of the whole
  /// job; others make a Group.
  std::uint32_t founders() const noexcept;
  /// Numbers that processes may have, which is what tables by process are made for: founders(),
  /// unless the job is elastic (Config::elastic).
  std::uint32_t capacity() const noexcept;
  /// Number of machines of the job. Any thread, wait-free.
  std::uint32_t machines() const noexcept;
  /// What is known of a process of the job; of a number that no process can have, that it has no
  /// threads. Any thread, wait-free.
  ProcessInfo info(ProcessId process) const noexcept;
  /// Number of workers of the job; of an elastic one, of its founders. Their order is that of
  /// ThreadId.
  std::uint32_t total_threads() const noexcept;
  /// The number of workers of the founder that has most; no newcomer has more. Any thread,
  /// wait-free.
  std::uint32_t max_threads() const noexcept;
  /// The position of a thread, which must exist, in that order. Those of newcomers to an elastic
  /// job have places behind it, with gaps.
  std::uint32_t rank_of(ThreadId thread) const noexcept;
  /// Positions that threads may have: total_threads(), unless the job is elastic.
  std::uint32_t rank_capacity() const noexcept;
  /// The thread at a position below rank_capacity(). Any thread, wait-free.
  ThreadId thread_of_rank(std::uint32_t rank) const noexcept;
  /// Whether this job has such a worker.
  bool exists(ThreadId thread) const noexcept;
  /// The NUMA zone that the worker lives in, as its process has said.
  dtutils::NumaZone zone_of(ThreadId thread) const noexcept;
  /// Workers on one machine. Setup only.
  std::vector<ThreadId> threads_on(MachineId machine) const;
  /// Workers in one zone of a machine. Setup only.
  std::vector<ThreadId> threads_in(MachineId machine, dtutils::NumaZone zone) const;
  /// The settings, with defaults filled in. Any thread, wait-free.
  const Config& config() const noexcept;
  /// The device that was opened. Any thread, wait-free.
  const dtutils::DeviceInfo& device() const noexcept;
  /// What started this process: "alone", "cariama-run at 127.0.0.1:4711", "PMIx (mpirun)".
  std::string launched_by() const;

  // --- workers ------------------------------------------------------------------------------
  /// Runs `work` on every worker of every process: a collective, called by all processes. It
  /// returns when the work of all workers of the job has returned, and all accepted calls have been
  /// executed, together with the calls that these made (as wait_for_termination). Functions may run
  /// after the work of their worker has returned, so what they use must outlive the work; or the
  /// work ends with wait_for_termination. run() throws an Error that counts the calls which were
  /// not executed within Config::leave_timeout. When a process fails, run() does not wait for calls
  /// any more. An exception of a worker leaves run() of its process, once the other workers of that
  /// process have returned. All processes then see the process as failed, itself included, and
  /// their collectives throw PeerFailed. When peers fail but the workers here return normally,
  /// run() returns normally. Throws Error when an earlier run() of this process has not returned,
  /// for example in a worker. Setup only; from the thread that joined.
  ///
  /// In an elastic job it is no collective: it begins when it is called, and returns when the work
  /// of the workers of this process has returned, which serve calls until the last of them has.
  /// Calls of others to this process that come later do not run: whoever waits for their results
  /// gets PeerFailed when this process leaves.
  void run(const std::function<void(Thread&)>& work);
  /// The worker that is calling, or nullptr. Any thread, wait-free.
  Thread* current_thread() noexcept;

  // --- messages -----------------------------------------------------------------------------
  /// The largest payload of a message, in bytes. SendSpace (send_space.hpp) sends messages. Any
  /// thread, wait-free.
  std::uint32_t max_message() const noexcept;
  /// Sets what runs messages of `kind`. Every process calls it before the first of them can arrive:
  /// before run(). Setup only.
  void set_message_handler(MessageKind kind, MessageHandler handler);
  /// Takes in what arrived, runs what is for the calling thread, and polls for sent work. True when
  /// there was something. A worker calls Thread::progress, which is a little faster. Inside a
  /// message handler it takes in but runs nothing. Any thread.
  bool progress();

  // --- one-sided operations -----------------------------------------------------------------
  /// The calling thread's Transmitter to a process; its own process included. The first use of a
  /// process connects with it, which allocates, and waits until that process has answered (its
  /// workers need not), has failed or has left; so does the first message or call to it. Valid,
  /// though broken, also after a failure, and for a process that failed or left before it was
  /// connected. Its connection is never closed from then on, whatever Config::max_connections says.
  /// Throws Error when the job has no such process.
  /// Any thread; wait-free once the process is connected so; the first call of a thread unknown to
  /// the fabric allocates, and may throw as SendSpace.
  dtutils::Transmitter& transmitter(ProcessId to);
  /// The Transmitter of worker number `worker` of this process. Several threads that write to one
  /// place in turn use the same one, so that their writes arrive in order. Any thread, otherwise as
  /// transmitter().
  dtutils::Transmitter& transmitter_of(std::uint32_t worker, ProcessId to) noexcept;
  /// Whether this process is connected with another one, so that its use waits for nobody. Any
  /// thread, wait-free.
  bool connected(ProcessId with) const noexcept;
  /// Other processes that this one is connected with, and that have neither failed nor left: what
  /// Config::max_connections limits. Any thread, wait-free.
  std::uint32_t connections() const noexcept;
  /// Makes progress until a post on `transmitter` would not wait. Call it before posts that could
  /// follow many sends, so that two processes that flood each other keep receiving messages. Any
  /// thread.
  void make_room(dtutils::Transmitter& transmitter);
  /// The domain of all regions and queue pairs of this fabric. Any thread, wait-free.
  dtutils::ProtectionDomain& protection_domain() noexcept;
  /// The allocator of a zone of this process (info(process()).zones), or of the default zone for
  /// any other zone.
  dtutils::RDMAAllocator& allocator(dtutils::NumaZone zone) noexcept;
  /// The allocator of the default zone. Any thread, wait-free.
  dtutils::RDMAAllocator& allocator() noexcept;
  /// Registered memory of any size, in the same zones.
  dtutils::GeneralAllocator& general_allocator(dtutils::NumaZone zone) noexcept;
  /// The same in the default zone.
  dtutils::GeneralAllocator& general_allocator() noexcept;
  /// Memory in another process: in one of its zones, or in its default zone. Waits for the answer,
  /// and serves meanwhile. Throws Error when the owner has no memory or no such zone, or there is
  /// no such process, PeerFailed when it is gone. Any thread, not inside a message handler.
  RemoteMemory allocate_remote(ProcessId owner, std::size_t bytes,
                               std::optional<dtutils::NumaZone> zone = {});
  /// Memory in the zone where that worker lives, which must exist. As allocate_remote.
  RemoteMemory allocate_near(ThreadId thread, std::size_t bytes);

  // --- names --------------------------------------------------------------------------------
  /// Bytes of a name at most.
  static constexpr std::size_t kMaxName = 63;
  /// Bytes of a published value at most.
  static constexpr std::size_t kMaxNamedValue = 64;
  /// Makes `value`, any trivially copyable value of at most kMaxNamedValue bytes (a ThreadId, a
  /// locator, ...), known under `name` to all processes; a later publish replaces it. Throws Error
  /// when the name is empty or too long, PeerFailed when the process that keeps the name is gone.
  /// Any thread, not inside a message handler.
  void publish(std::string_view name, std::span<const std::byte> value);
  /// The value that was last published under that name; empty when there is none. Throws as
  /// publish.
  std::optional<std::vector<std::byte>> lookup(std::string_view name);

  // --- failure ------------------------------------------------------------------------------
  /// Whether it takes part, as this process believes. A number that no process of the job can have
  /// counts as failed. Any thread, wait-free.
  PeerState state(ProcessId process) const noexcept;
  /// Whether the process has failed. Any thread, wait-free.
  bool failed(ProcessId process) const noexcept { return state(process) == PeerState::kFailed; }
  /// The number of processes that have failed, this one included; grows only.
  std::uint32_t failures() const noexcept;
  /// Why the process has failed, in words; empty when it has not failed. Any thread (takes a lock).
  std::string failure_reason(ProcessId process) const;
  /// `upcall` runs once for each peer that fails, on the failure detector's thread, after pending
  /// operations have been failed; it must not wait. For peers that failed before, it runs at once
  /// on this thread. Setup only.
  ///
  /// In an elastic job it runs when the launcher has given the peer up; state() tells earlier what
  /// this process believes. Who believes that a peer has failed accuses it, and breaks its
  /// connections with it before it tells its program; the first one to be accused is given up, and
  /// if it lives, it is told, and has failed for itself too.
  ///
  /// Returns a name of the upcall for remove_upcall().
  UpcallId on_failure(std::function<void(ProcessId, const std::string& reason)> upcall);
  /// Ends an upcall of on_failure or on_watch and frees what it holds; nothing when it has ended.
  /// It may run still, or once more, for a failure that is being told of now, so what it uses
  /// outlives that, or it holds a std::weak_ptr. Any thread (takes a lock).
  void remove_upcall(UpcallId upcall) noexcept;
  /// `look` runs on the failure detector's thread when it looks at idle peers, after each
  /// Config::watch_interval in which nothing happened. A layer with queue pairs of its own, which
  /// the fabric does not know, looks at them then (QueuePair::state, from any thread), and calls
  /// fail() where one has broken. It must not wait. Setup only. Returns a name for remove_upcall(),
  /// for which the same holds as above.
  UpcallId on_watch(std::function<void()> look);
  /// They run for each process that comes, leaves in good order (~Fabric), or fails, each once, all
  /// in one order that is the same at all members, from the coming of this process on; on the
  /// failure detector's thread, also for what has happened before this call. They may call others,
  /// and must not wait. A job that is not elastic has failures alone, which each process sees in an
  /// order of its own. Setup only.
  void on_change(MemberUpcalls upcalls);
  /// Declares a peer failed, because it broke a protocol of a layer above, or a connection of such
  /// a layer to it has broken: its queue pairs are broken, and everything else follows as for a
  /// crash; this process, as if a worker had thrown. Nothing, when there is none such. Any thread.
  void fail(ProcessId process, std::string_view reason) noexcept;

  // --- exceptions of callables --------------------------------------------------------------
  /// `upcall` gets the exceptions of callables whose results no slot waits for, on the thread that
  /// ran them, which then goes on with the next call. Without an upcall such an exception leaves
  /// progress(). A later upcall replaces this one. Setup only.
  void on_exception(std::function<void(const CallContext&, std::exception_ptr)> upcall);
  /// Hands an exception to the upcall; throws it again when there is none. Any thread.
  void report_exception(const CallContext& call, std::exception_ptr thrown);

  // --- for layers above ---------------------------------------------------------------------
  /// The functions of this program, as join() found them. Any thread, wait-free.
  const detail::FunctionTable& functions() const noexcept;
  /// Calls that this process has sent as messages, and calls that came as messages and were run
  /// here, by any of its threads. A call is counted before it is sent, and after it was run; a
  /// thread that sees it counted as run also sees the calls counted that it sent. Any thread,
  /// wait-free.
  std::uint64_t calls_sent() const noexcept;
  /// Calls that came as messages and were run here. Any thread, wait-free.
  std::uint64_t calls_run() const noexcept;
  /// Every process gives bytes of any number and gets those of all. A collective through the
  /// launcher, and slow. Calls of processes that have come out of it see, in any thread here, what
  /// this process did before it. Throws PeerFailed or Error. Setup only, outside of run().
  std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine);

  /// What a layer above keeps once in each process. The first call with a key (the address of
  /// anything static) calls `make`. The object lives until the fabric has left the job and no
  /// service thread runs any more, and is destroyed before the registered memory. Any thread (takes
  /// a lock).
  std::shared_ptr<void> attachment(const void* key,
                                   const std::function<std::shared_ptr<void>(Fabric&)>& make);

  /// From now on `ledger` counts for wait_for_termination() and the end of run(). It lives until
  /// the fabric has left the job: part of an attachment. Any thread (takes a lock).
  void add_call_ledger(CallLedger& ledger);

  /// `start` is called on each worker of every run() that begins later, before its work. Any thread
  /// (takes a lock).
  void at_thread_start(std::function<void(Thread&)> start);

 private:
  friend class detail::Inside;
  friend Fabric join(int& argc, char** argv, Config config);
  friend Fabric join(Config config);
  friend Fabric join(std::unique_ptr<Bootstrap> bootstrap, Config config);
  Fabric(const Config& config, std::unique_ptr<Bootstrap> bootstrap);

  class Impl;
  detail::Inside inside_;
  std::unique_ptr<Impl> impl_;
};

/// @cond
inline const detail::Inside& detail::Inside::of(const Fabric& fabric) noexcept {
  return fabric.inside_;
}
/// @endcond

}  // namespace dsfabric
