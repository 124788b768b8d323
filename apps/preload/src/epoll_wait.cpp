// SPDX-License-Identifier: MIT
// Waiting for what registrations ask for.
#include <algorithm>
#include <array>
#include <cerrno>

#include "connection.hpp"
#include "epoll_set.hpp"
#include "epoll_tags.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"
#include "uring.hpp"

namespace preload {
namespace {

using std::chrono::steady_clock;

/// Waits in which a hot connection has nothing before it is left to the kernel.
constexpr std::uint32_t kMissesBeforeCold = 64;
/// While a connection waits for the process that has its stream.
constexpr std::chrono::milliseconds kLookForOwner{4};
constexpr int kEventsPerQuestion = 256;
constexpr std::size_t kEventsOfNoise = 16;

/// Level-triggered bits of poll(2) are those of epoll(7).
constexpr std::uint32_t kAlways = EPOLLERR | EPOLLHUP;
constexpr short kTcpLevels = POLLIN | POLLOUT | POLLPRI | POLLRDHUP;

int milliseconds_left(End end) noexcept {
  if (!end) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT32_MAX));
}

/// One of the sleepers, who were counted before: until it is awake, or cancelled.
struct Asleep {
  ~Asleep() {
    --sleepers;
    for (EpollSet* const each : inner) each->leave();
  }
  std::atomic<int>& sleepers;
  std::vector<EpollSet*> inner;
};

}  // namespace

/// The events that are given to the program.
class EpollSet::Report {
 public:
  Report(epoll_event* events, int most) noexcept : events_(events), most_(most) {}
  bool full() const noexcept { return count_ == most_; }
  int count() const noexcept { return count_; }
  int room() const noexcept { return most_ - count_; }
  /// The kernel told of a connection with a stream, which has to be looked at.
  void look_again() noexcept { again_ = true; }
  bool again() const noexcept { return again_; }
  void add(std::uint32_t events, const epoll_data_t& data) noexcept {
    events_[count_].events = events;
    events_[count_].data = data;
    ++count_;
  }

 private:
  epoll_event* events_;
  int most_;
  int count_ = 0;
  bool again_ = false;
};

void EpollSet::look(Report& report) {
  const std::size_t count = hot_.size();
  for (std::size_t i = 0; i < count && !report.full(); ++i) {
    look_at(*hot_[(turn_ + i) % count], report);
  }
}

Registration::Edge EpollSet::news(Registration& registration) {
  if (registration.disabled || registration.parked) return {};
  Connection& connection = *registration.connection;
  const std::scoped_lock lock(connection.mutex);
  if (registration.gone) return {};
  short events;
  if (registration.tcp_said || (connection.tcp_events() & (POLLIN | POLLOUT)) != 0) {
    const short now = levels(registration.fd, kTcpLevels);
    registration.tcp_said = (now & ~POLLOUT) != 0;
    events = connection.merge(registration.fd, now);
  } else {
    events = connection.stream_events(registration.fd);
  }
  const std::uint32_t reported =
      static_cast<std::uint16_t>(events) & (registration.wanted.events | kAlways);
  if (reported == 0 || (registration.wanted.events & EPOLLET) == 0) return {.events = reported};
  const Registration::Edge edge{connection.arrived(), connection.blocked(), registration.tcp_edges,
                                reported};
  return edge == registration.reported ? Registration::Edge{} : edge;
}

void EpollSet::look_at(Registration& registration, Report& report) {
  const Registration::Edge edge = news(registration);
  if (edge.events == 0) return;
  registration.reported = edge;
  registration.misses = 0;
  registration.disabled = (registration.wanted.events & EPOLLONESHOT) != 0;
  report.add(edge.events, registration.wanted.data);
}

bool EpollSet::has_news() {
  return std::any_of(hot_.begin(), hot_.end(),
                     [this](Registration* each) { return news(*each).events != 0; });
}

/// What the kernel tells of TCP below a stream is no news for the program.
void EpollSet::take_noise(int set, std::unique_lock<Mutex>& lock) {
  const auto tells_again = [](const auto& each) {
    const Registration& registration = each.second;
    return registration.carried || (registration.wanted.events & (EPOLLET | EPOLLONESHOT)) == 0;
  };
  if (levels(set, POLLIN) == 0) return;
  if (!std::all_of(registrations_.begin(), registrations_.end(), tells_again)) return;
  std::array<epoll_event, kEventsOfNoise> dropped;
  Report report(dropped.data(), dropped.size());
  ask(set, report, 0, nullptr, lock);
}

void EpollSet::show(int set) noexcept {
  std::unique_lock lock(mutex);
  answer_requests(set);
  if (carried_ != 0) take_noise(set, lock);
  for_each_inner([](EpollSet& inner, int fd) { inner.show(fd); });
  for (Registration* const each : hot_) arm(*each);
  // An edge that nobody has taken is enough.
  if (!has_news() || levels(kick_, POLLIN) != 0) return;
  const std::uint64_t one = 1;
  static_cast<void>(real().write(kick_, &one, sizeof one));
}

void EpollSet::enter(int set) noexcept {
  ++sleepers_;
  show(set);
}

short EpollSet::shown(int set, short events) noexcept {
  show(set);
  return levels(set, events);
}

int EpollSet::ask(int set, Report& report, int milliseconds, const sigset_t* mask,
                  std::unique_lock<Mutex>& lock) {
  if (report.full()) return 0;
  std::array<epoll_event, kEventsPerQuestion> events;
  const int room = std::min(report.room(), kEventsPerQuestion);
  int count;
  if (milliseconds == 0) {
    for_each_inner([](EpollSet& inner, int fd) { inner.show(fd); });
    count = real().epoll_pwait(set, events.data(), room, 0, mask);
  } else {
    std::vector<EpollSet*> entered;
    for_each_inner([&](EpollSet& inner, int fd) {
      entered.push_back(&inner);
      inner.enter(fd);
    });
    ++sleepers_;
    lock.unlock();
    {
      const SleepWithSignals signals(mask);
      const Asleep asleep{sleepers_, std::move(entered)};
      if (requested_.load()) milliseconds = 0;
      const Cancellable here;
      count = real().epoll_pwait(set, events.data(), room, milliseconds, signals.mask());
    }
    lock.lock();
  }
  if (count < 0) return errno;
  for (int i = 0; i < count; ++i) take_event(events[static_cast<std::size_t>(i)], report);
  return 0;
}

/// An inner set of which the kernel told has nothing for the program.
bool EpollSet::is_noise(const Registration& registration) {
  if ((registration.wanted.events & EPOLLONESHOT) != 0) return false;
  bool noise = false;
  for_each_inner([&](EpollSet& inner, int fd) {
    if (fd == registration.fd) noise = inner.shown(fd, POLLIN) == 0;
  });
  return noise;
}

void EpollSet::take_event(const epoll_event& event, Report& report) {
  if (event.data.u64 == kKickSource) {
    std::uint64_t count;
    static_cast<void>(real().read(kick_, &count, sizeof count));
    return;
  }
  const auto found = registrations_.find(fd_of(event.data.u64));
  if (found == registrations_.end()) {
    // Registered by an io_uring (IORING_OP_EPOLL_CTL), as Node does.
    if (has_uring()) report.add(event.events, event.data);
    return;
  }
  Registration& registration = found->second;
  if (!registration.carried) {
    if ((event.data.u64 & kStreamSource) == 0 && !is_noise(registration)) {
      report.add(event.events, registration.wanted.data);
    }
    return;
  }
  const std::scoped_lock lock(registration.connection->mutex);
  if ((event.data.u64 & kStreamSource) == 0) {
    registration.tcp_said = true;
    // The kernel tells all that there is: space of TCP is none of the stream's.
    const auto meant = static_cast<std::uint16_t>(registration.connection->tcp_events());
    if ((event.events & meant) != 0) ++registration.tcp_edges;
  } else {
    if (!registration.gone) registration.connection->disarm();
  }
  report.look_again();
  for (Registration* const each : registration.connection->registrations) {
    if (each->set == this && each->carried) heat(*each);
  }
}

bool EpollSet::spin(int set, Report& report, std::unique_lock<Mutex>& lock) {
  return patience_.spin([&](std::uint32_t looks) {
    look(report);
    if (looks % kLooksPerQuestion == kLooksPerQuestion - 1) ask(set, report, 0, nullptr, lock);
    return report.count() != 0;
  });
}

void EpollSet::arm(Registration& registration) noexcept {
  const std::scoped_lock lock(registration.connection->mutex);
  if (!registration.gone) registration.connection->arm(kick_);
}

void EpollSet::cool_idle(Report& report) {
  for (std::size_t i = hot_.size(); i-- > 0 && !report.full();) {
    Registration& registration = *hot_[i];
    if (++registration.misses <= kMissesBeforeCold) continue;
    arm(registration);
    look_at(registration, report);
    if (registration.misses == 0) continue;
    registration.hot = false;
    hot_.erase(hot_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void EpollSet::leave_to_sleepers() {
  if (hot_.empty() || sleepers_.load() == 0) return;
  for (Registration* const each : hot_) arm(*each);
  wake(-1);
}

bool EpollSet::cool(Report& report) {
  for (Registration* const each : hot_) arm(*each);
  look(report);
  if (report.count() != 0) return false;
  std::erase_if(hot_, [](Registration* each) {
    const std::scoped_lock lock(each->connection->mutex);
    const bool cold = each->gone || each->connection->longest_sleep().count() == 0;
    each->hot = !cold;
    return cold;
  });
  return true;
}

int EpollSet::wait(int set, epoll_event* events, int most, End end, const sigset_t* mask) {
  pthread_testcancel();
  Report report(events, most);
  std::unique_lock lock(mutex);
  ++waiting_;
  int code = 0;
  for (bool last = false, slept = false; !last && code == 0 && report.count() == 0;) {
    last = over(end);
    answer_requests(set);
    ++turn_;
    look(report);
    if (report.count() != 0 || last) {
      // As in the kernel, signals do not come within a call that has something to tell.
      if (report.count() == 0 || !slept) {
        code = ask(set, report, 0, report.count() != 0 ? nullptr : mask, lock);
      }
      if (report.count() == 0 && report.again()) look(report);
      cool_idle(report);
    } else if (hot_.empty() || (!spin(set, report, lock) && cool(report))) {
      End soonest = end;
      if (!hot_.empty()) {
        const auto look_again = steady_clock::now() + kLookForOwner;
        soonest = std::min(end.value_or(look_again), look_again);
      }
      code = ask(set, report, milliseconds_left(soonest), mask, lock);
      slept = true;  // And the kernel has told what it had.
    }
  }
  leave_to_sleepers();
  --waiting_;
  if (report.count() != 0 || code == 0) return report.count();
  errno = code;
  return -1;
}

}  // namespace preload
