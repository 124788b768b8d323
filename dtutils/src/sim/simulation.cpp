// SPDX-License-Identifier: MIT
// Simulation: the public face of the simulator.
#include "dtutils/simulation.hpp"

#include <fmt/chrono.h>

#include <utility>

#include "sim/queue_pair.hpp"
#include "sim/world.hpp"

namespace dtutils {
namespace {

/// A fault, in the trace if there is one.
template <class... Values>
void show(sim::World& world, Simulation::Node node, fmt::format_string<const Values&...> text,
          const Values&... values) {
  if (world.trace() != nullptr) world.show_fault(world.node(node), fmt::format(text, values...));
}

}  // namespace

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
void Simulation::caught() { world_->caught(); }
void Simulation::enter(Node node) { world_->enter(node); }

Simulation* Simulation::current() noexcept {
  sim::World* const world = sim::World::current();
  return world != nullptr ? &world->face : nullptr;
}

Simulation::Node Simulation::node() const noexcept { return world_->running_node().number; }
std::chrono::nanoseconds Simulation::time() const noexcept {
  return std::chrono::nanoseconds(world_->time());
}
void Simulation::compute(std::chrono::nanoseconds time) noexcept { world_->compute(time); }
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
  show(*world_, node, "is stopped for {}", how_long);
  world_->stop(world_->node(node), sim::after(world_->time(), how_long));
}
void Simulation::slow_down(Node node, unsigned factor) {
  show(*world_, node, "is slowed down by {}", factor);
  world_->node(node).slowness = factor;
}
void Simulation::cut(Node one, Node other, std::chrono::nanoseconds how_long) {
  show(*world_, one, "is cut off from node {} for {}", other, how_long);
  show(*world_, other, "is cut off from node {} for {}", one, how_long);
  world_->link(one, other).cut_until = sim::after(world_->time(), how_long);
}
void Simulation::delay(Node one, Node other, std::chrono::nanoseconds more) {
  show(*world_, one, "takes {1} longer to node {0}", other, more);
  show(*world_, other, "takes {1} longer to node {0}", one, more);
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

void Simulation::limit_memory(Node node, std::size_t bytes) {
  show(*world_, node, "may register {} bytes more", bytes);
  world_->node(node).memory = bytes;
}

bool Simulation::traced() const noexcept { return world_->trace() != nullptr; }

void Simulation::mark(std::string_view kind, std::string_view name) {
  sim::Trace* const trace = world_->trace();
  if (trace != nullptr) trace->instant(world_->show_here(), world_->time(), kind, name);
}

std::uint64_t Simulation::begin_span(std::string_view kind, std::string_view name) {
  sim::Trace* const trace = world_->trace();
  return trace != nullptr ? trace->begin(world_->show_here(), world_->time(), kind, name) : 0;
}

void Simulation::end_span(std::uint64_t span) {
  sim::Trace* const trace = world_->trace();
  if (trace == nullptr || span == 0) return;
  // Waits in vain before the end are inside.
  (void)world_->show_here();
  trace->end(span, world_->time());
}

}  // namespace dtutils
