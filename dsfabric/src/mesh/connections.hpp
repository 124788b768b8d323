// SPDX-License-Identifier: MIT
// The queue pairs of this process to those processes of the job that it talks to, and to itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsfabric/config.hpp"
#include "dsfabric/ids.hpp"
#include "dtutils/transmitter.hpp"
#include "mesh/held_transmitter.hpp"
#include "mesh/receive_queue.hpp"
#include "threads/thread_context.hpp"

namespace dsfabric {

/// Takes the queue pair to the error state, and polls until Synchronizers and
/// memory tags of everything outstanding have heard of it. Any thread that may
/// use the Transmitter.
void break_connection(dtutils::Transmitter& transmitter) noexcept;

/// Who connects this process with another one when it first has to do with it.
class FirstUse {
 public:
  /// Begins, and does not wait. Any thread (takes a lock; setup only).
  virtual void begin(ProcessId with) noexcept = 0;
  /// Returns when the process is connected, or never will be. Any thread (takes a lock; setup
  /// only).
  virtual void finish(ProcessId with) noexcept = 0;

 protected:
  ~FirstUse() = default;
};

/// Config::queue_pairs Transmitters to each process that was used: thread context i uses number i
/// modulo their count. A process goes three steps here: its Transmitters are made, connected with
/// those of the peer, and then, when the peer has connected its own, handed out. Any thread,
/// wait-free, where nothing else is said; those who make, connect, hand out, and close do so one at
/// a time.
///
/// Where connections may end before the job does (`counted`), because there may be more peers than
/// connections, or members leave, each use is counted: hold() and try_hold() give a Transmitter
/// that stays connected until its user gives it back. of() pins the connection, which is never
/// closed from then on, and costs its later users no count. One without users, and not pinned, can
/// be stopped: who comes then waits until it is open again (failure/closings.hpp says how both
/// sides agree). Its Transmitters, reset, serve the next peer that this process connects with.
/// Those to a member that is gone are destroyed; whoever polls one of them at this moment is waited
/// for.
class Connections {
 public:
  /// One after the other in memory, so that the first one leads to all.
  using Transmitters = std::span<std::optional<dtutils::Transmitter>>;

  /// Process `self` of `processes` processes, connected with itself only; at most `sharing_threads`
  /// threads use one Transmitter at once; `counted`: connections may be closed. Setup only.
  Connections(dtutils::ProtectionDomain& pd, ReceiveQueue& receive_queue, const Config& config,
              ProcessId self, std::uint32_t processes, std::uint32_t sharing_threads, bool counted);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// It is asked from here on. Setup only.
  void on_first_use(FirstUse& first_use) noexcept { first_use_ = &first_use; }

  /// Connects first, where that has not been done, and pins the connection. A broken one for a
  /// process that cannot be reached, which failures or the end of that process explain.
  dtutils::Transmitter& of(const ThreadContext& context, ProcessId to) noexcept {
    dtutils::Transmitter* const out = connected(context, to);
    return out != nullptr ? *out : connect_now(context, to);
  }
  /// The same for one use, without pinning.
  HeldTransmitter hold(ThreadContext& context, ProcessId to) noexcept {
    dtutils::Transmitter* const out = connected(context, to);
    return HeldTransmitter(out != nullptr ? CountedUse{out}
                                          : use_now(context, to, context.has_connected));
  }
  /// The same, but none where it would have to connect: everything that was posted is done.
  HeldTransmitter try_hold(const ThreadContext& context, ProcessId to) noexcept {
    dtutils::Transmitter* const out = connected(context, to);
    return HeldTransmitter(out != nullptr ? CountedUse{out} : try_use_open(context, to));
  }

  /// Begins to connect with a process that will be used, and does not wait.
  void expect(ProcessId process) noexcept {
    if (!ready(process)) first_use_->begin(process);
  }
  /// Whether a use would not have to connect.
  bool ready(ProcessId process) const noexcept {
    return ready_[process.value].load(std::memory_order_acquire) != nullptr ||
           (uses_ != nullptr && open(process));
  }
  /// Polls the next Transmitter of the thread context, in turn; true when there was something.
  bool poll_next(ThreadContext& context) noexcept {
    const Touched all = touched();
    context.poll_next = context.poll_next + 1 < all.size() ? context.poll_next + 1 : 0;
    const ProcessId process = all[context.poll_next];
    if (uses_ != nullptr) [[unlikely]]
      return poll_counted(context, process);
    return made_[process.value].load(std::memory_order_acquire)[number_for(context)]->progress();
  }
  /// Of a process: none where it has none.
  Transmitters to(ProcessId process) const noexcept {
    Slot* const first = made_[process.value].load(std::memory_order_acquire);
    return {first, first != nullptr ? queue_pairs_ : 0};
  }
  /// The processes that it has, or had, Transmitters to, connected or not; itself first. Later ones
  /// take the places of those that are gone.
  using Touched = std::span<const std::atomic<ProcessId>>;
  Touched touched() const noexcept {
    return {touched_.get(), count_.load(std::memory_order_acquire)};
  }
  std::uint32_t queue_pairs() const noexcept { return queue_pairs_; }
  std::uint32_t sharing_threads() const noexcept { return sharing_threads_; }

  /// Makes the Transmitters to a process that has none. Throws Error. Setup only.
  void make(ProcessId to);
  /// What a process needs to connect to this one. Setup only.
  std::vector<dtutils::Endpoint> endpoints(ProcessId from) const;
  /// Connects to a process that has given these. Throws Error. Setup only.
  void connect(ProcessId to, std::span<const dtutils::Endpoint> endpoints);
  /// The peer has connected, too. Setup only.
  void hand_out(ProcessId to) noexcept;

  // --- closing, where uses are counted ---------------------------------------------------------
  /// There may be more peers than connections.
  bool limited() const noexcept { return limited_; }
  /// Of those that have no users, are not pinned, and of which `may_go(process)` is true, the one
  /// whose last use is longest ago. Setup only.
  std::optional<ProcessId> least_recently_used(const std::function<bool(ProcessId)>& may_go) const;
  /// From now on nobody comes to use it. False: it is in use, pinned, or not open. Setup only.
  bool try_stop(ProcessId process) noexcept;
  /// It goes on, and counts as used just now. Setup only.
  void go_on(ProcessId process) noexcept;
  /// Whether somebody waits to use it. Setup only.
  bool awaited(ProcessId process) const noexcept;
  /// Of one that has been stopped: lets all that was posted end, then sends a farewell with this
  /// number on each queue pair, behind which nothing follows, and lets that end. Numbers of one
  /// process grow. False: it takes longer than `limit`, or is broken. Setup only.
  bool bid_farewell(ProcessId process, std::uint64_t number,
                    std::chrono::milliseconds limit) noexcept;
  /// The farewell of that number has come from all queue pairs of the peer, so that all that it
  /// had sent has been taken.
  bool farewell_came(ProcessId from, std::uint64_t number) const noexcept;
  /// A farewell was taken from the receive queue. One thread at a time.
  void note_farewell(ProcessId from, std::uint64_t number) noexcept;
  /// Takes the queue pairs back; another peer may get them. Throws Error. Setup only.
  void close(ProcessId process);
  /// A member is gone, whose queue pairs are broken: from now on nobody comes to use it, and
  /// nothing is made for it. False: it is in use, or pinned. Setup only.
  bool try_abandon(ProcessId process) noexcept;
  bool abandoned(ProcessId process) const noexcept {
    return uses_ != nullptr && (uses_[process.value].users.load(std::memory_order_relaxed) & kGone);
  }
  /// Somebody may hold its Transmitters without being counted.
  bool pinned(ProcessId process) const noexcept {
    return uses_ == nullptr ||
           (uses_[process.value].users.load(std::memory_order_relaxed) & kPinned) != 0;
  }
  /// Destroys the Transmitters to one that was abandoned. `fence` returns when nobody is left who
  /// began before it to look where a message came from. Setup only.
  void destroy(ProcessId process, const std::function<void()>& fence) noexcept;

  /// Whether the queue pair of that number is one to `process`.
  bool leads_to(ProcessId process, std::uint32_t queue_pair) const noexcept;
  /// The process that the queue pair of that number leads to.
  std::optional<ProcessId> find(std::uint32_t queue_pair) const noexcept;

  /// Some connection to the process is broken, or about to be.
  bool broken(ProcessId process) const noexcept;
  /// What broke it: "its connection broke: ...".
  std::string why_broken(ProcessId process) const;
  /// Breaks the connections to a process.
  void break_off(ProcessId process) noexcept;
  /// Gives back the registered memory of the Transmitters to a process that is gone. False: its
  /// device still answers, or some of it is in use; try again later. True: its queue pairs are
  /// broken, or never were connected. One thread at a time; setup only.
  bool give_back(ProcessId process) noexcept;
  /// Lets what was posted end, and breaks what does not within `limit`. Setup
  /// only.
  void finish(std::chrono::milliseconds limit) noexcept;

 private:
  using Slot = std::optional<dtutils::Transmitter>;

  /// Which of the Transmitters to a process. A division in each look for messages is worth
  /// avoiding.
  std::uint32_t number_for(const ThreadContext& context) const noexcept {
    return queue_pairs_ == 1 ? 0 : context.number % queue_pairs_;
  }
  /// nullptr where it has to be connected, or counted.
  dtutils::Transmitter* connected(const ThreadContext& context, ProcessId to) const noexcept {
    // Acquire: pairs with hand_out, so that what the peer told of itself is seen.
    Slot* const first = ready_[to.value].load(std::memory_order_acquire);
    if (first == nullptr) [[unlikely]]
      return nullptr;
    return &*first[number_for(context)];
  }
  dtutils::Transmitter& connect_now(const ThreadContext& context, ProcessId to) noexcept;
  /// `waited` becomes true when it had to wait for a connection.
  CountedUse use_now(const ThreadContext& context, ProcessId to, bool& waited) noexcept;
  CountedUse try_use_open(const ThreadContext& context, ProcessId to) noexcept;

  /// See poll_next, where uses are counted.
  bool poll_counted(ThreadContext& context, ProcessId process) noexcept;

  /// Of a connection that may be closed.
  struct Use {
    /// Users, and those who wait to become some; kOpen, kPinned, kGone.
    std::atomic<std::uint32_t> users{0};
    /// When the last one came, by `clock_`.
    std::atomic<std::uint64_t> last{0};
    /// Number of the latest farewell that came, and by how many queue pairs.
    std::atomic<std::uint64_t> farewell{0};
  };
  static constexpr std::uint32_t kOpen = 1u << 31;
  static constexpr std::uint32_t kPinned = 1u << 30;
  static constexpr std::uint32_t kGone = 1u << 29;
  static constexpr unsigned kFarewellShift = 16;

  bool open(ProcessId process) const noexcept {
    // Acquire: pairs with hand_out().
    return (uses_[process.value].users.load(std::memory_order_acquire) & kOpen) != 0;
  }
  void note_use(Use& use) noexcept {
    if (!limited_) return;
    use.last.store(clock_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  dtutils::ProtectionDomain& pd_;
  ReceiveQueue& receive_queue_;
  const ProcessId self_;
  const dtutils::TransmitterOptions options_;
  const std::uint32_t queue_pairs_;
  const std::uint32_t sharing_threads_;
  const bool limited_;
  FirstUse* first_use_ = nullptr;
  /// Given out for processes that cannot be reached.
  dtutils::Transmitter broken_;
  std::vector<std::unique_ptr<Slot[]>> all_;
  /// By process: the first of those that are made, and of those that are handed out.
  std::vector<std::atomic<Slot*>> made_;
  std::vector<std::atomic<Slot*>> ready_;
  /// By process; none where uses are not counted.
  std::unique_ptr<Use[]> uses_;
  std::atomic<std::uint64_t> clock_{0};
  /// Which Transmitters a thread context polls just now, uncounted.
  struct alignas(dtutils::kCacheLine) Polled {
    std::atomic<Slot*> first{nullptr};
  };
  /// By thread context; none where uses are not counted.
  std::unique_ptr<Polled[]> polled_;
  /// Transmitters of connections that were closed.
  std::vector<Slot*> spare_;
  /// Room for all; the first `count_` are there.
  std::unique_ptr<std::atomic<ProcessId>[]> touched_;
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace dsfabric
