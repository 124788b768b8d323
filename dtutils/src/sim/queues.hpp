// SPDX-License-Identifier: MIT
// Completion channels, completion queues and receive queues of a simulated adapter.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

#include "sim/fifo.hpp"
#include "sim/node.hpp"
#include "sim/world.hpp"

namespace dtutils::sim {

struct CompletionQueue;

// A channel or queue that is destroyed while others use it (ibv_destroy_cq(3) answers EBUSY) goes
// with the last of them. `users` counts them, and the program until it destroys the object.

struct Channel {
  /// Throws Error. Setup only.
  explicit Channel(World& its_world);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  /// The oldest event; nullptr when there is none.
  CompletionQueue* take() noexcept;
  /// The queue is going.
  void forget(const CompletionQueue& queue) noexcept;

  ibv_comp_channel verbs{};
  World& world;
  Node& node;
  std::uint32_t users = 1;
  Fifo<CompletionQueue*> events;
};

struct Completion {
  ibv_wc work;
  /// The queue pair, and the send queue positions that it gives back; 0 for receives.
  std::uint32_t pair;
  std::uint64_t position;
};

struct CompletionQueue {
  CompletionQueue(World& its_world, Node& its_node, Channel* its_channel, std::uint32_t its_depth)
      : world(its_world), node(its_node), channel(its_channel), depth(its_depth) {}

  ibv_cq verbs{};
  World& world;
  Node& node;
  Channel* channel;
  std::uint32_t depth;
  std::uint32_t users = 1;
  bool overrun = false;
  /// 0: no event wanted, 1: at the next completion, 2: at the next solicited or failed one.
  unsigned armed = 0;
  Fifo<Completion> completions;

  /// False: it overruns, for good.
  bool push(const Completion& completion, bool solicited) noexcept;
  int poll(int count, ibv_wc* into) noexcept;
  /// 0 or an errno value.
  int arm(bool solicited_only) noexcept;
  void forget(std::uint32_t pair) noexcept {
    completions.remove([&](const Completion& each) { return each.pair == pair; });
  }
};

struct Receive {
  std::uint64_t id = 0;
  std::vector<ibv_sge> elements;
};

/// Of a queue pair, or shared.
struct ReceiveQueue {
  std::uint32_t depth = 0;
  std::uint32_t max_sge = 0;
  std::uint32_t pd = 0;
  Fifo<Receive> receives;

  /// 0 or an errno value; `*bad` is the first that was not taken.
  int post(ibv_recv_wr* request, ibv_recv_wr** bad) noexcept;
};

struct SharedReceiveQueue {
  explicit SharedReceiveQueue(World& its_world) : world(its_world) {}

  ibv_srq verbs{};
  World& world;
  ReceiveQueue queue;
  std::uint32_t users = 1;
};

}  // namespace dtutils::sim
