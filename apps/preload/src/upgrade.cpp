// SPDX-License-Identifier: MIT
// Two threads of the library: one listens for those that come, one goes to those that listen. One
// alone would wait for itself when both sides are in this process, or in two that both do both.
#include "upgrade.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "asynchronous.hpp"
#include "connection.hpp"
#include "dtutils/device.hpp"
#include "dtutils/error.hpp"
#include "fork.hpp"
#include "host_visits.hpp"
#include "hosts/settings.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"
#include "request.hpp"
#include "signals.hpp"
#include "waiting.hpp"

namespace preload {
namespace {

using std::chrono::milliseconds;

/// How often offers are held against connections that were closed.
constexpr Request::Clock::duration kSweep = milliseconds(500);
/// Between the first two visits at a broker, and how much longer after each: the other side may ask
/// for its stream later.
constexpr Request::Clock::duration kFirstPause = milliseconds(20);
constexpr int kLonger = 4;

Mutex upgrades_mutex;

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
  /// A device that is opened by the first thread that needs it.
  class LazyDomain {
   public:
    /// nullptr when the device does not work here.
    dtutils::ProtectionDomain* get(const std::string& device) {
      std::call_once(opened_, [&] {
        try {
          device_ = dtutils::open_device(device);
          take_part_in_forks();
          domain_ = std::make_unique<dtutils::ProtectionDomain>(*device_);
        } catch (const dtutils::Error&) {
        }
      });
      return domain_.get();
    }

   private:
    std::once_flag opened_;
    std::unique_ptr<dtutils::Device> device_;
    std::unique_ptr<dtutils::ProtectionDomain> domain_;
  };

  dtutils::ProtectionDomain* domain(const Request& request) {
    return request.other_host ? between_.get(hosts::between_hosts()->device) : here_.get("shm");
  }

  void serve(Worker& worker) {
    std::vector<Request> offers;
    for (;;) {
      std::vector<int> descriptors;
      for (const Request& offer : offers) descriptors.push_back(offer.waiting->descriptor());
      const std::vector<bool> readable =
          worker.sleep(descriptors, offers.empty() ? nullptr : &kSweep);
      for (std::size_t i = 0; i < offers.size(); ++i) {
        if (readable[i]) accept(offers[i]);
      }
      std::erase_if(offers, [](Request& offer) {
        if (is_still_wanted(offer)) return false;
        end(offer);
        return true;
      });
      for (Request& request : worker.take()) {
        if (begin(request)) offers.push_back(std::move(request));
      }
    }
  }

  bool begin(Request& request) {
    try {
      if (auto* const device = domain(request); device != nullptr) {
        const std::scoped_lock lock(upgrades_mutex);
        if (request.other_host) {
          request.waiting =
              std::make_unique<WaitingForHost>(*device, request.name, request.options);
        } else {
          request.waiting = std::make_unique<WaitingHere>(*device, request.name, request.options);
        }
        if (leaves_descriptors(request.waiting->descriptor())) {
          listening_descriptors().insert(request.waiting->descriptor());
          return true;
        }
      }
    } catch (const dtutils::Error&) {
    }
    finish(request, nullptr);
    return false;
  }

  static void accept(const Request& offer) {
    try {
      if (auto stream = offer.waiting->accept()) finish(offer, std::move(stream));
    } catch (const dtutils::Error&) {
      finish(offer, nullptr);
    }
  }

  static void end(Request& offer) {
    finish(offer, nullptr);
    const std::scoped_lock lock(upgrades_mutex);
    listening_descriptors().erase(offer.waiting->descriptor());
    offer.waiting.reset();
  }

  void visit(Worker& worker) {
    std::vector<Request> later;
    for (;;) {
      const auto soonest = std::min_element(
          later.begin(), later.end(),
          [](const Request& a, const Request& b) { return a.next_visit < b.next_visit; });
      Request::Clock::duration limit{};
      if (soonest != later.end()) limit = soonest->next_visit - Request::Clock::now();
      worker.sleep({}, soonest == later.end() ? nullptr : &limit);
      std::vector<Request> requests = worker.take();
      for (Request& each : later) requests.push_back(std::move(each));
      later.clear();
      for (Request& request : requests) {
        const bool is_time = request.next_visit <= Request::Clock::now();
        if (!is_time || (request.other_host ? go_to_host(request) : go_here(request))) {
          later.push_back(std::move(request));
        }
      }
    }
  }

  /// False: it is done, as ever.
  bool go_here(const Request& request) {
    std::unique_ptr<streams::Stream> stream;
    try {
      if (auto* const device = domain(request);
          device != nullptr && is_still_wanted(request) && streams::is_listening(request.name)) {
        stream = streams::connect(*device, request.name, kMeeting, request.options);
      }
    } catch (const dtutils::Error&) {
    }
    finish(request, std::move(stream));
    return false;
  }

  /// True: it shall go once more, later.
  bool go_to_host(Request& request) {
    auto* const device = domain(request);
    HostVisits::Result result{HostVisits::Outcome::kNone, nullptr};
    if (device != nullptr && is_still_wanted(request)) result = visits_.visit(request, *device);
    if (result.outcome == HostVisits::Outcome::kLater) {
      request.next_visit = Request::Clock::now() + request.pause;
      request.pause *= kLonger;
      return true;
    }
    finish(request, std::move(result.stream));
    return false;
  }

  LazyDomain here_;
  LazyDomain between_;
  HostVisits visits_;
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
  if (needs_tcp(fd)) return connection.pin();
  try {
    Upgrades* const all = upgrades_of_process();
    Request request{.connection = &connection,
                    .generation = connection.generation(),
                    .name = meeting_name(fd, connection.connected_here()),
                    .options = stream_options(connection.ring()),
                    .other_host = connection.other_host(),
                    .peer = peer_of(fd),
                    .end = Request::Clock::now() + kMeeting,
                    .waiting = nullptr,
                    .next_visit = {},
                    .pause = kFirstPause};
    if (all == nullptr || request.name.empty()) return;
    connection.pending = true;
    // On one host the side that connected cannot be asked for by others, so it waits.
    if (connection.connected_here() != connection.other_host()) {
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
  upgrades_mutex.unlock();
  for (const int fd : listening_descriptors()) real().close(fd);
  listening_descriptors().clear();
  // The threads are the parent's, and so is the device: both are left alone.
  upgrades = nullptr;
  impossible = false;
}

}  // namespace preload
