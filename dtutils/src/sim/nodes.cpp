// SPDX-License-Identifier: MIT
// World: nodes, what they have, and the paths between them.
#include <algorithm>
#include <utility>

#include "sim/world.hpp"

namespace dtutils::sim {

Node& World::node(Simulation::Node number) {
  while (nodes_.size() <= number) {
    nodes_.push_back(std::make_unique<Node>());
    nodes_.back()->number = static_cast<Simulation::Node>(nodes_.size() - 1);
    if (trace_) trace_->name_node(nodes_.back()->number);
  }
  return *nodes_[number];
}

void World::crash(Node& node) noexcept {
  note(mixed(node.number + 77));
  const bool again = std::exchange(node.crashed, true);
  if (trace_ && !again) show_fault(node, "crashes");
  // Those that wait without a limit would never be parked.
  for (const auto& thread : threads_) {
    if (thread->node == &node) wake(*thread, time());
  }
  if (!again && crashed_) crashed_(node.number);
}

void World::stop(Node& node, sim::Time until) noexcept {
  node.stopped_until = until;
  if (node.crashed) return;
  // Those whose time has come were put off until the end of the last stop.
  for (const auto& thread : threads_) {
    if (thread->node != &node || thread->state != Thread::State::kWaiting) continue;
    if (thread->wakes_at <= time()) push(until, Happening::kWake, thread->number, ++thread->wait);
  }
}

bool World::reachable(const Node& from, const Node& to) noexcept {
  if (from.crashed || to.crashed) return false;
  if (links_.empty() || &from == &to) return true;
  const auto found = links_.find(std::minmax(from.number, to.number));
  return found == links_.end() || found->second.cut_until <= time();
}

sim::Time World::path(const Node& from, const Node& to) noexcept {
  const NetworkModel& model = options.model;
  sim::Time takes = 0;
  if (&from != &to) {
    const std::uint32_t ports = std::max(model.ports, 1u);
    takes = model.hop.count() * (from.number / ports == to.number / ports ? 1 : 3);
    if (!links_.empty()) {
      const auto found = links_.find(std::minmax(from.number, to.number));
      if (found != links_.end()) takes += found->second.more;
    }
  }
  const sim::Time jitter = options.disorder.jitter.count();
  if (jitter != 0) takes += static_cast<sim::Time>(random.below(jitter + 1));
  return takes;
}

std::uint32_t World::add(QueuePair& pair) {
  pairs_.push_back(&pair);
  return static_cast<std::uint32_t>(pairs_.size() - 1);
}

std::uint32_t World::add(SimDevice& device) {
  devices_.push_back(&device);
  return static_cast<std::uint32_t>(devices_.size() - 1);
}

}  // namespace dtutils::sim
