// SPDX-License-Identifier: MIT
// Looks at streams itself, and sleeps in the kernel for all.
#include "poll.hpp"

#include <cerrno>
#include <ctime>
#include <span>
#include <vector>

#include "call_memory.hpp"
#include "connection.hpp"
#include "descriptor_table.hpp"
#include "epoll_set.hpp"
#include "kernel_poll.hpp"
#include "patience.hpp"
#include "real.hpp"
#include "signals.hpp"

namespace preload {
namespace {

using std::chrono::steady_clock;

/// Sleepers that have no descriptor by which they can be woken look again after this time.
constexpr std::chrono::milliseconds kBlindSleep{1};

/// Seconds: the clock counts no further than some hundred years.
constexpr std::time_t kForEver = 1'000'000'000;

thread_local Patience patience;

/// One call of poll.
class Poll {
 public:
  /// `any`: what a stream has is enough, so the kernel is not asked what else there is.
  Poll(std::span<pollfd> entries, bool any) noexcept
      : entries_(entries),
        any_(any),
        places_(memory_.get()),
        sets_(memory_.get()),
        asked_(memory_.get()) {}

  /// False when none of the descriptors is a connection or an epoll instance.
  bool find() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry* const entry = table().find(entries_[i].fd);
      if (entry == nullptr) continue;
      if (entry->kind() == Entry::Kind::kEpollSet) {
        sets_.push_back({i, entries_[i].fd, static_cast<EpollSet*>(entry)});
      }
      if (entry->kind() != Entry::Kind::kConnection) continue;
      places_.push_back({i, nullptr, {}, 0});
      if (const auto connection = lock(i)) streams_ = streams_ || connection->is_carried();
    }
    return !places_.empty() || !sets_.empty();
  }

  bool has_streams() const noexcept { return streams_; }

  /// True when a stream has something for the program.
  bool look() noexcept {
    for (const Place& place : places_) {
      pollfd& entry = entries_[place.index];
      const auto connection = lock(place.index);
      if (connection && (connection->stream_events(entry.fd) & wanted(entry)) != 0) return true;
    }
    return false;
  }

  /// After a look that found something. 0: another thread has taken it.
  int found() { return any_ ? 1 : ask(steady_clock::time_point{}, nullptr); }

  /// Asks the kernel, and sleeps there until `end`. The number of entries with events, or -1.
  int ask(End end, const sigset_t* mask) {
    asked_.assign(entries_.begin(), entries_.end());
    for (const Set& each : sets_) each.set->show(each.fd);
    put_questions();
    return finish(end, mask);
  }

  /// The same, and wakes also for the streams. The caller looks before and after.
  int sleep(End end, const sigset_t* mask) {
    // So that what is entered for the sleep is taken out again, whatever a handler does.
    const SleepWithSignals signals(mask);
    const Asleep asleep(*this);
    const int wake = wake_descriptor();
    asked_.assign(entries_.begin(), entries_.end());
    asked_.push_back({wake, POLLIN, 0});
    for (const Set& each : sets_) {
      ++entered_;
      each.set->enter(each.fd);
    }
    for (Place& place : places_) {
      const auto connection = lock(place.index);
      if (!connection) continue;
      place.connection = connection.entry;
      place.sleeper = connection->sleepers.add(wake);
      if (const auto most = connection->longest_sleep(); most.count() != 0) {
        const auto soon = steady_clock::now() + most;
        end = end ? std::min(*end, soon) : soon;
      }
      if (connection->stream() == nullptr) continue;
      connection->arm(wake);
      place.stream = asked_.size();
      asked_.push_back({connection->stream()->descriptor(), POLLIN, 0});
    }
    const bool seen = look();
    // A stream of which the look has seen the end goes on with TCP.
    put_questions();
    if (seen) {
      end = steady_clock::time_point{};
    } else if (wake < 0) {
      const auto soon = steady_clock::now() + kBlindSleep;
      end = end ? std::min(*end, soon) : soon;
    }
    if (seen && any_) return 1;
    // As in the kernel, signals do not come within a call that has something to tell.
    return finish(end, seen ? nullptr : signals.mask(), true);
  }

 private:
  struct Place {
    std::size_t index;
    Connection* connection;
    Sleepers::Place sleeper;
    /// Where its stream stands among what the kernel is asked; 0: nowhere.
    std::size_t stream;
  };

  /// An epoll instance.
  struct Set {
    std::size_t index;
    int fd;
    EpollSet* set;
  };

  /// Takes back what a sleep has entered, also when the thread is cancelled.
  struct Asleep {
    explicit Asleep(Poll& poll) noexcept : of(poll) {}
    Asleep(const Asleep&) = delete;
    Asleep& operator=(const Asleep&) = delete;
    ~Asleep() { of.wake_up(); }
    Poll& of;
  };

  void put_questions() noexcept {
    for (const Place& place : places_) {
      if (const auto connection = lock(place.index)) {
        asked_[place.index].events = connection->tcp_question(entries_[place.index].events);
      }
    }
  }

  void wake_up() noexcept {
    const int code = errno;
    while (entered_ != 0) sets_[--entered_].set->leave();
    for (Place& place : places_) {
      if (place.connection == nullptr) continue;
      const std::scoped_lock lock(place.connection->mutex);
      place.connection->sleepers.remove(place.sleeper);
      if (place.stream != 0 && asked_[place.stream].revents != 0) place.connection->disarm();
      place.connection = nullptr;
      place.stream = 0;
    }
    if (asked_[entries_.size()].revents != 0) take_wakes();
    errno = code;
  }

  Locked<Connection> lock(std::size_t index) const noexcept {
    return table().lock<Connection>(entries_[index].fd);
  }

  static short wanted(const pollfd& entry) noexcept {
    return static_cast<short>(entry.events | POLLERR | POLLHUP | POLLNVAL);
  }

  int finish(End end, const sigset_t* mask, bool sleeps = false) {
    timespec storage;
    const timespec* const time = time_left(end, storage);
    int found;
    if (sleeps) {
      const Cancellable here;
      found = poll_kernel(asked_.data(), asked_.size(), time, mask);
    } else {
      const HoldSignals hold;
      found = poll_kernel(asked_.data(), asked_.size(), time, mask);
    }
    if (found < 0) return -1;
    for (const Place& place : places_) {
      short& events = asked_[place.index].revents;
      if (const auto connection = lock(place.index)) {
        events = connection->merge(entries_[place.index].fd, events);
      }
    }
    for (const Set& each : sets_) {
      short& events = asked_[each.index].revents;
      if (events != 0) events = each.set->shown(each.fd, asked_[each.index].events);
    }
    int count = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      entries_[i].revents = static_cast<short>(asked_[i].revents & wanted(entries_[i]));
      if (entries_[i].revents != 0) ++count;
    }
    return count;
  }

  std::span<pollfd> entries_;
  bool any_;
  CallMemory memory_;
  std::pmr::vector<Place> places_;
  std::pmr::vector<Set> sets_;
  std::size_t entered_ = 0;
  std::pmr::vector<pollfd> asked_;
  bool streams_ = false;
};

}  // namespace

bool needs_poll_here(int fd) noexcept {
  const Entry* const entry = table().find(fd);
  return entry != nullptr && entry->kind() != Entry::Kind::kListening;
}

End end_after(const timespec* timeout) noexcept {
  if (timeout == nullptr || timeout->tv_sec > kForEver) return std::nullopt;
  return steady_clock::now() + std::chrono::seconds(timeout->tv_sec) +
         std::chrono::nanoseconds(timeout->tv_nsec);
}

End end_after(int milliseconds) noexcept {
  if (milliseconds < 0) return std::nullopt;
  return steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

const timespec* time_left(End end, timespec& storage) noexcept {
  if (!end) return nullptr;
  const auto left = std::max(*end - steady_clock::now(), steady_clock::duration::zero());
  storage.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
  storage.tv_nsec = (left % std::chrono::seconds(1)).count();
  return &storage;
}

namespace {

int until(std::span<pollfd> entries, bool any, End end, const sigset_t* mask) {
  pthread_testcancel();
  Poll poll(entries, any);
  if (!poll.find()) {
    timespec storage;
    return real().ppoll(entries.data(), entries.size(), time_left(end, storage), mask);
  }
  constexpr steady_clock::time_point kNow{};
  if (over(end)) return poll.look() ? poll.found() : poll.ask(kNow, mask);
  // Who waits for one event has just tried.
  if (!any && poll.look()) {
    if (const int found = poll.found(); found != 0) return found;
  }
  if (poll.has_streams()) {
    int found = 0;
    const bool seen = patience.spin([&](std::uint32_t looks) {
      if (poll.look()) return true;
      return looks % kLooksPerQuestion == kLooksPerQuestion - 1 &&
             (found = poll.ask(kNow, nullptr)) != 0;
    });
    if (found == 0 && seen) found = poll.found();
    if (found != 0) return found;
  }
  for (;;) {
    const int found = poll.sleep(end, mask);
    if (found != 0 || over(end)) return found;
  }
}

}  // namespace

int poll_until(pollfd* entries, nfds_t count, End end, const sigset_t* mask) {
  return until(std::span(entries, count), false, end, mask);
}

int wait_until(int fd, short event, End end) {
  pollfd entry{fd, event, 0};
  return until(std::span(&entry, 1), true, end, nullptr);
}

}  // namespace preload
