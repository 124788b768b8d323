// SPDX-License-Identifier: MIT
// Simulation: the public face of the simulator.
#include "dtutils/simulation.hpp"

#include <utility>

#include "sim/queue_pair.hpp"
#include "sim/world.hpp"

namespace dtutils {

Simulation::Simulation(const SimulationOptions& options)
    : world_(std::make_unique<sim::World>(options, *this)) {}

Simulation::~Simulation() {
  // Threads that wait for ever still look at it.
  if (!world_->can_be_destroyed()) [[maybe_unused]]
    const auto* left = world_.release();
}

void Simulation::start(Node node, std::function<void()> body) {
  world_->start(node, std::move(body));
}
SimulationReport Simulation::run() { return world_->run(); }
void Simulation::enter(Node node) { world_->enter(node); }

Simulation* Simulation::current() noexcept {
  sim::World* const world = sim::World::current();
  return world != nullptr ? &world->face : nullptr;
}

Simulation::Node Simulation::node() const noexcept { return world_->running_node().number; }
std::chrono::nanoseconds Simulation::time() const noexcept {
  return std::chrono::nanoseconds(world_->time());
}
void Simulation::compute(std::chrono::nanoseconds time) noexcept {
  world_->charge(time);
  world_->wait_until(world_->time());
}
std::uint64_t Simulation::random() noexcept { return world_->random.next(); }
void Simulation::signaled(Node node) noexcept { world_->stir_watchers(world_->node(node)); }
void Simulation::note(std::uint64_t value) noexcept { world_->note(value); }

void Simulation::at(std::chrono::nanoseconds time, std::function<void()> action) {
  world_->at(time.count(), std::move(action));
}
void Simulation::crash(Node node) { world_->crash(world_->node(node)); }
void Simulation::on_crash(std::function<void(Node)> upcall) { world_->on_crash(std::move(upcall)); }
bool Simulation::crashed(Node node) const noexcept { return world_->node(node).crashed; }
void Simulation::stop(Node node, std::chrono::nanoseconds how_long) {
  world_->stop(world_->node(node), sim::after(world_->time(), how_long));
}
void Simulation::slow_down(Node node, unsigned factor) { world_->node(node).slowness = factor; }
void Simulation::cut(Node one, Node other, std::chrono::nanoseconds how_long) {
  world_->link(one, other).cut_until = sim::after(world_->time(), how_long);
}
void Simulation::delay(Node one, Node other, std::chrono::nanoseconds more) {
  world_->link(one, other).more = more.count();
}

bool Simulation::break_a_queue_pair() {
  const std::size_t count = world_->pairs();
  const std::size_t first = world_->random.below(count);
  for (std::size_t i = 0; i < count; ++i) {
    sim::QueuePair* const pair = world_->pair(static_cast<std::uint32_t>((first + i) % count));
    if (pair == nullptr || !pair->connected()) continue;
    pair->break_off(IBV_WC_RETRY_EXC_ERR);
    return true;
  }
  return false;
}

void Simulation::limit_memory(Node node, std::size_t bytes) { world_->node(node).memory = bytes; }

}  // namespace dtutils
