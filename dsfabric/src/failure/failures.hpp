// SPDX-License-Identifier: MIT
// Who has failed and why, and who wants to know.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsfabric/elastic_job.hpp"
#include "dsfabric/ids.hpp"
#include "dsfabric/process_info.hpp"
#include "dtutils/wake_fd.hpp"
#include "failure/pending_table.hpp"

namespace dsfabric {

/// A failure takes two steps. `declare` marks the peer, so that from then on nothing is sent to it
/// and collectives end. `handle`, on the failure detector's thread, breaks its queue pairs, fails
/// what waits for it, and tells the user.
///
/// In an elastic job the user is told what all members are told, and in their order: the news comes
/// from the launcher, by `agree`, also of a peer that was declared failed here before.
class Failures {
 public:
  using Upcall = std::function<void(ProcessId, const std::string& reason)>;

  /// `processes`: so many may come to be.
  Failures(ProcessId self, std::uint32_t processes, bool elastic)
      : self_(self), elastic_(elastic), states_(processes) {}
  Failures(const Failures&) = delete;
  Failures& operator=(const Failures&) = delete;

  /// Acquire: pairs with declare, so that the reason is known to whoever is refused. Any thread,
  /// wait-free.
  PeerState state(ProcessId process,
                  std::memory_order order = std::memory_order_acquire) const noexcept {
    return states_[process.value].load(order);
  }
  bool active(ProcessId process) const noexcept { return state(process) == PeerState::kActive; }

  /// First one wins; a peer that left does not fail. Any thread (takes a lock).
  void declare(ProcessId process, std::string_view reason) noexcept;
  /// The peer has ended in good order. Any thread.
  void mark_left(ProcessId process) noexcept;
  /// What the launcher of an elastic job says, in its order. The users are told when it has been
  /// handled. Any thread, one at a time.
  void agree(JobEvent::Kind kind, ProcessId process, std::string_view reason) noexcept;
  /// Asks the failure detector's thread to look at the peers now. Any thread.
  void look() noexcept { wake_.wake(); }
  /// Second step for everyone declared; `part` breaks the queue pairs. `gone` is called for each
  /// member of an elastic job that, as all have heard, left or failed. The failure detector's
  /// thread only.
  void handle(PendingTable& pending,
              const std::function<void(ProcessId, const std::string& reason)>& part,
              const std::function<void(ProcessId)>& gone) noexcept;

  /// Whether all that were declared have been told, and cut off. Any thread (takes a lock).
  bool handled() const;

  /// Failed peers, this process itself included. Any thread, wait-free. Acquire: pairs with
  /// declare.
  std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  /// The one that failed first among those of which `wanted` is true. Any thread (takes a lock).
  std::optional<ProcessId> first_of(const std::function<bool(ProcessId)>& wanted) const;
  std::string reason(ProcessId process) const;
  UpcallId on_failure(Upcall upcall) { return on(JobEvent::Kind::kFailed, std::move(upcall)); }
  /// Called with all such news, those from before first, on this thread. Setup only.
  UpcallId on(JobEvent::Kind kind, Upcall upcall);
  /// Those that look at connections of their own, when told to. Setup only.
  UpcallId on_watch(std::function<void()> look);
  /// Has them look. The failure detector's thread only.
  void watch() noexcept;
  /// It is not called with news that are told from now on, nor to look. Any thread (takes a lock).
  void remove(UpcallId upcall) noexcept;
  using Change = std::function<void(JobEvent::Kind, ProcessId, const std::string& reason)>;
  /// Called with all news, in their order, by the failure detector's thread. Setup only.
  void on_change(Change change);
  dtutils::WakeFd& wake_fd() noexcept { return wake_; }

 private:
  struct News {
    JobEvent::Kind kind;
    ProcessId process;
    std::string reason;
  };
  /// Of all news.
  struct Watcher {
    Change change;
    /// How many it has been told.
    std::size_t told = 0;
  };
  /// The next of news_, to those who want it. Under `lock`, but for the upcalls.
  void tell_next(std::unique_lock<std::mutex>& lock);
  /// One of them, to one who waits for it; false when there is none. In the same way.
  bool tell_watcher(std::unique_lock<std::mutex>& lock);

  const ProcessId self_;
  const bool elastic_;
  /// Each set once; every send looks at one.
  std::vector<std::atomic<PeerState>> states_;
  dtutils::WakeFd wake_;
  std::atomic<std::uint32_t> count_{0};
  mutable std::mutex mutex_;
  struct Failed {
    ProcessId process;
    std::string reason;
  };
  /// In the order of failure.
  std::vector<Failed> failed_;
  std::vector<ProcessId> left_;
  /// For the users, and how many of them they have been told.
  std::vector<News> news_;
  std::size_t told_ = 0;
  struct Taken {
    UpcallId id;
    Upcall upcall;
  };
  struct Look {
    UpcallId id;
    std::function<void()> look;
  };
  /// By the kind of news.
  std::array<std::vector<Taken>, 4> upcalls_;
  std::vector<Look> looks_;
  std::uint64_t taken_ = 0;
  std::list<Watcher> watchers_;
  /// How many of failed_ and left_ have been handled.
  std::size_t handled_ = 0;
  std::size_t left_handled_ = 0;
};

}  // namespace dsfabric
