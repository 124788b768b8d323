// SPDX-License-Identifier: MIT
// What the walker of one worker tells those of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mcts/messages.hpp"
#include "mcts/settings.hpp"
#include "mcts/worker_map.hpp"

namespace mcts {

/// Makes the calls of Messages. Owner thread only.
template <class Walker, class Channel>
class Outbox {
 public:
  using Calls = Messages<Walker>;
  using G = typename Walker::GameHere;
  using OwnersHere = typename Walker::OwnersHere;

  Outbox(const WorkerMap& worker_map, Channel& channel, Counters& counters) noexcept
      : worker_map_(worker_map), channel_(channel), counters_(counters) {}

  /// A call could not be made: its destination is gone, and rollouts with it.
  bool broken() const noexcept { return broken_; }

  void select(const NodeRef& at, std::uint32_t visits) noexcept {
    send(at.rank, typename Calls::Select{worker_map_.object_of(at.rank), at.cell, visits});
  }
  void create(std::uint16_t to, const G& position, const ParentRef& parent) noexcept {
    send_leaf<typename Calls::Create>(to, position, parent);
  }
  void simulate(std::uint16_t to, const G& position, const ParentRef& parent) noexcept {
    send_leaf<typename Calls::Simulate>(to, position, parent);
  }
  /// The place of a new node, and its first result; `owners` may be null.
  void created(const ParentRef& to, Link link, Result result, const OwnersHere* owners) noexcept {
    send(to.node.rank,
         typename Calls::Created{worker_map_.object_of(to.node.rank), link.bits(), to.node.cell,
                                 to.child, result},
         bytes_of(owners));
  }
  void give_back(const ParentRef& to, Result result, const OwnersHere* owners) noexcept {
    send(
        to.node.rank,
        typename Calls::Return{worker_map_.object_of(to.node.rank), to.node.cell, to.child, result},
        bytes_of(owners));
  }

 private:
  template <class F>
  void send(std::uint16_t to, const F& function, std::span<const std::byte> extra = {}) noexcept {
    ++counters_.calls;
    counters_.bytes += sizeof(F) + extra.size();
    const auto status = channel_.call_buffer(worker_map_.thread_of(to), function, extra);
    if (status != dsfabric::CallStatus::kAccepted) broken_ = true;
  }
  template <class Leaf>
  void send_leaf(std::uint16_t to, const G& position, const ParentRef& parent) noexcept {
    send(to, Leaf{worker_map_.object_of(to), parent.node.cell, parent.node.rank, parent.child},
         std::as_bytes(std::span(&position, 1)));
  }
  static std::span<const std::byte> bytes_of(const OwnersHere* owners) noexcept {
    if (owners == nullptr) return {};
    return std::as_bytes(std::span(owners, 1));
  }

  const WorkerMap& worker_map_;
  Channel& channel_;
  Counters& counters_;
  bool broken_ = false;
};

}  // namespace mcts
