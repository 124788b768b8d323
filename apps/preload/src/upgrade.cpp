// SPDX-License-Identifier: MIT
// Two threads of the library: one listens for those that come, one goes to those that listen. One
// alone would wait for itself when both sides are in this process, or in two that both do both.
#include "upgrade.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "asynchronous.hpp"
#include "connection.hpp"
#include "dtutils/device.hpp"
#include "dtutils/error.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"

namespace preload {
namespace {

using std::chrono::milliseconds;

/// How long the other side, which is there, may take.
constexpr milliseconds kMeeting{5000};
/// How often offers are held against connections that were closed.
constexpr int kSweepMilliseconds = 500;

/// A connection that wants a stream.
struct Request {
  Connection* connection;
  std::uint64_t generation;
  std::string name;
  streams::StreamOptions options;
  /// Of the side that listens.
  std::unique_ptr<streams::Listener> listener;
};

/// Descriptors of streams shall not take those that the program needs.
bool leaves_descriptors(int fd) noexcept {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<rlim_t>(fd) < limit.rlim_cur / 2;
}

/// Gives the connection its stream, or nothing. The stream is destroyed without the lock.
void finish(const Request& request, std::unique_ptr<streams::Stream> stream) {
  if (stream != nullptr && !leaves_descriptors(stream->descriptor())) stream = nullptr;
  Connection& connection = *request.connection;
  const std::scoped_lock lock(connection.mutex);
  if (connection.generation() != request.generation) return;
  connection.pending = false;
  if (stream != nullptr && connection.may_be_carried()) connection.carry(std::move(stream));
}

bool is_still_wanted(const Request& request) {
  const std::scoped_lock lock(request.connection->mutex);
  return request.connection->generation() == request.generation && request.connection->pending;
}

/// A list of requests, and a thread that takes them.
class Worker {
 public:
  template <class Body>
  explicit Worker(Body body) : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    // Signals are for the program's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this, body] { body(*this); }).detach();
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void ask(Request request) {
    const std::scoped_lock lock(mutex_);
    requests_.push_back(std::move(request));
    const std::uint64_t one = 1;
    static_cast<void>(real().write(wake_, &one, sizeof one));
  }
  std::vector<Request> take() {
    std::uint64_t count;
    static_cast<void>(real().read(wake_, &count, sizeof count));
    const std::scoped_lock lock(mutex_);
    return std::exchange(requests_, {});
  }
  pollfd wake() const noexcept { return {wake_, POLLIN, 0}; }

 private:
  std::mutex mutex_;
  std::vector<Request> requests_;
  int wake_;
};

std::mutex upgrades_mutex;

/// Descriptors of listeners, of which a forked child closes its copies: a name lives as long as one
/// of them. Guarded by `upgrades_mutex`.
std::set<int>& listening_descriptors() {
  static std::set<int>& all = *new std::set<int>;
  return all;
}

/// What a process has once a stream was asked for. It lives until the process ends: its threads do.
class Upgrades {
 public:
  void listen(Request request) { listening_.ask(std::move(request)); }
  void go(Request request) { going_.ask(std::move(request)); }

 private:
  /// Opened by the first thread that needs it; nullptr when the device does not work here.
  dtutils::ProtectionDomain* domain() {
    std::call_once(opened_, [this] {
      try {
        device_ = dtutils::open_device("shm");
        domain_ = std::make_unique<dtutils::ProtectionDomain>(*device_);
      } catch (const dtutils::Error&) {
      }
    });
    return domain_.get();
  }

  void serve(Worker& worker) {
    std::vector<Request> offers;
    for (;;) {
      std::vector<pollfd> entries{worker.wake()};
      for (const Request& offer : offers) {
        entries.push_back({offer.listener->descriptor(), POLLIN, 0});
      }
      const timespec sweep{0, kSweepMilliseconds * 1'000'000};
      real().ppoll(entries.data(), entries.size(), offers.empty() ? nullptr : &sweep, nullptr);
      for (std::size_t i = 0; i < offers.size(); ++i) {
        if (entries[i + 1].revents != 0) accept(offers[i]);
      }
      std::erase_if(offers, [](Request& offer) {
        if (is_still_wanted(offer)) return false;
        const std::scoped_lock lock(upgrades_mutex);
        listening_descriptors().erase(offer.listener->descriptor());
        offer.listener.reset();
        return true;
      });
      for (Request& request : worker.take()) {
        if (begin(request)) offers.push_back(std::move(request));
      }
    }
  }

  bool begin(Request& request) {
    try {
      if (domain() != nullptr) {
        const std::scoped_lock lock(upgrades_mutex);
        request.listener =
            std::make_unique<streams::Listener>(*domain(), request.name, request.options);
        if (leaves_descriptors(request.listener->descriptor())) {
          listening_descriptors().insert(request.listener->descriptor());
          return true;
        }
      }
    } catch (const dtutils::Error&) {
    }
    finish(request, nullptr);
    return false;
  }

  void accept(const Request& offer) {
    try {
      if (auto stream = offer.listener->accept(milliseconds(0))) finish(offer, std::move(stream));
    } catch (const dtutils::Error&) {
      finish(offer, nullptr);
    }
  }

  void visit(Worker& worker) {
    for (;;) {
      pollfd entry = worker.wake();
      real().ppoll(&entry, 1, nullptr, nullptr);
      for (const Request& request : worker.take()) {
        std::unique_ptr<streams::Stream> stream;
        try {
          if (domain() != nullptr && is_still_wanted(request) &&
              streams::is_listening(request.name)) {
            stream = streams::connect(*domain(), request.name, kMeeting, request.options);
          }
        } catch (const dtutils::Error&) {
        }
        finish(request, std::move(stream));
      }
    }
  }

  std::once_flag opened_;
  std::unique_ptr<dtutils::Device> device_;
  std::unique_ptr<dtutils::ProtectionDomain> domain_;
  Worker listening_{[this](Worker& worker) { serve(worker); }};
  Worker going_{[this](Worker& worker) { visit(worker); }};
};

Upgrades* upgrades = nullptr;
bool impossible = false;

/// nullptr when this process cannot have streams.
Upgrades* upgrades_of_process() noexcept {
  const std::scoped_lock lock(upgrades_mutex);
  if (upgrades != nullptr || impossible) return upgrades;
  try {
    upgrades = new Upgrades;
  } catch (...) {
    impossible = true;
  }
  return upgrades;
}

}  // namespace

void ask_for_stream(Connection& connection, int fd) noexcept {
  try {
    Upgrades* const all = upgrades_of_process();
    Request request{&connection, connection.generation(),
                    meeting_name(fd, connection.connected_here()),
                    stream_options(connection.ring()), nullptr};
    if (all == nullptr || request.name.empty()) return;
    connection.pending = true;
    if (connection.connected_here()) {
      all->listen(std::move(request));
    } else {
      all->go(std::move(request));
    }
  } catch (const std::bad_alloc&) {
    connection.pending = false;
  }
}

void lock_upgrades_for_fork() noexcept { upgrades_mutex.lock(); }
void unlock_upgrades_in_parent() noexcept { upgrades_mutex.unlock(); }
void forget_upgrades_in_child() noexcept {
  new (&upgrades_mutex) std::mutex;
  for (const int fd : listening_descriptors()) real().close(fd);
  listening_descriptors().clear();
  // The threads are the parent's, and so is the device: both are left alone.
  upgrades = nullptr;
  impossible = false;
}

}  // namespace preload
