// SPDX-License-Identifier: MIT
// The server of Srsl: the queues of the locks of this home.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "dsfabric/ids.hpp"
#include "locks/detail/place.hpp"

namespace dsfabric {
class Fabric;
}

namespace locks::detail {

/// A request for a lock, in the message that brings it.
struct SrslRequest {
  std::uint64_t lock;
  PlaceNumber number;
  Mode mode;
};

/// Service threads run `request` and `release`, the keeper `remove_dead`. Answers are calls to the
/// workers, which are sent outside of the lock. Any thread.
class SrslServer {
 public:
  SrslServer(dsfabric::Fabric& fabric, std::uint32_t space) : fabric_(fabric), space_(space) {}
  SrslServer(const SrslServer&) = delete;
  SrslServer& operator=(const SrslServer&) = delete;

  /// Grants the lock by a call, at once or later; refuses it when the server is closed.
  void request(const SrslRequest& request);
  /// Grants the lock at once, or not at all: a Verdict (kHomeGone: closed), or kRefused.
  std::uint32_t try_request(const SrslRequest& request);
  static constexpr std::uint32_t kRefused = 0xffff;
  void release(const SrslRequest& request);
  /// Takes out all requests of these processes, which every process has cut off. One that has
  /// failed since then keeps its locks: others may not have cut it off.
  void remove_dead(std::span<const std::uint16_t> dead);
  /// Refuses all that wait and all that will ask: the workers of this process leave the space.
  void close();
  /// Answers a request with Verdict::kHomeGone, where there is no server any more.
  static void refuse(dsfabric::Fabric& fabric, std::uint32_t space, PlaceNumber number);

 private:
  struct Waiter {
    PlaceNumber number;
    Mode mode;
  };
  struct Queue {
    std::vector<PlaceNumber> readers;
    PlaceNumber holder = 0;
    std::deque<Waiter> waiting;
    /// An exclusive holder died, and none has come since.
    bool died = false;
  };
  struct Grant {
    PlaceNumber number;
    Verdict verdict;
  };

  dsfabric::ProcessId process_of(PlaceNumber number) const;
  bool gone(PlaceNumber number) const;
  static bool admits(const Queue& queue, Mode mode) noexcept;
  static Verdict admit(Queue& queue, const Waiter& waiter);
  static void grant_next(Queue& queue, std::vector<Grant>& grants);
  void forget_if_free(std::uint64_t lock);
  void send(const std::vector<Grant>& grants);
  static void send(dsfabric::Fabric& fabric, std::uint32_t space, const Grant& grant);

  dsfabric::Fabric& fabric_;
  const std::uint32_t space_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Queue> queues_;
  bool closed_ = false;
};

}  // namespace locks::detail
