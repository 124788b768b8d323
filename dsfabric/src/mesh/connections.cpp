// SPDX-License-Identifier: MIT
// Connections: making, finding and breaking queue pairs.
#include "mesh/connections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {
namespace {

dtutils::TransmitterOptions options_for(ReceiveQueue& receive_queue, const Config& config,
                                        std::uint32_t sharing_threads) {
  dtutils::TransmitterOptions options = dtutils::TransmitterOptions::for_threads(sharing_threads);
  if (config.send_depth != 0) options.queue_pair.send_depth = config.send_depth;
  options.queue_pair.shared_receive_queue = &receive_queue.queue;
  options.queue_pair.max_inline = kInlineWrite;
  return options;
}

/// Connected with itself and then broken, it lets go of what is posted, as one does whose peer has
/// died.
void make_broken(dtutils::Transmitter& transmitter) {
  transmitter.connect(transmitter.endpoint());
  transmitter.queue_pair().disconnect();
  (void)transmitter.write(dtutils::LocalBuffer{}, {}, dtutils::kSignaled);
  break_connection(transmitter);
}

}  // namespace

void break_connection(dtutils::Transmitter& transmitter) noexcept {
  try {
    transmitter.queue_pair().disconnect();
  } catch (const dtutils::Error&) {
    // It was never connected, or is broken already.
  }
  // Until the marker behind everything outstanding has come.
  dtutils::Deadline deadline(std::chrono::milliseconds(100));
  dtutils::Backoff backoff;
  const dtutils::SelectiveSignaling& signaling = transmitter.signaling();
  while (signaling.retired() < signaling.issued() && !deadline.passed()) {
    transmitter.progress() ? backoff.reset() : backoff.pause();
  }
}

Connections::Connections(dtutils::ProtectionDomain& pd, ReceiveQueue& receive_queue,
                         const Config& config, ProcessId self, std::uint32_t processes,
                         std::uint32_t sharing_threads, bool counted)
    : pd_(pd),
      receive_queue_(receive_queue),
      self_(self),
      options_(options_for(receive_queue, config, sharing_threads)),
      queue_pairs_(config.queue_pairs),
      sharing_threads_(sharing_threads),
      limited_(counted && processes - 1 > config.max_connections),
      broken_(pd, receive_queue.completions, options_),
      made_(processes),
      ready_(processes),
      uses_(counted ? std::make_unique<Use[]>(processes) : nullptr),
      polled_(counted ? std::make_unique<Polled[]>(sharing_threads) : nullptr),
      touched_(std::make_unique<std::atomic<ProcessId>[]>(processes)) {
  make_broken(broken_);
  make(self);
  connect(self, endpoints(self));
  ready_[self.value].store(made_[self.value].load(std::memory_order_relaxed),
                           std::memory_order_release);
}

void Connections::make(ProcessId to) {
  if (spare_.empty()) {
    auto row = std::make_unique<Slot[]>(queue_pairs_);
    for (std::uint32_t i = 0; i < queue_pairs_; ++i) {
      row[i].emplace(pd_, receive_queue_.completions, options_);
    }
    spare_.reserve(all_.size() + 1);
    all_.push_back(std::move(row));
    spare_.push_back(all_.back().get());
  }
  // Release: pairs with to() and touched().
  made_[to.value].store(spare_.back(), std::memory_order_release);
  spare_.pop_back();
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  std::uint32_t place = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const ProcessId there = touched_[i];
    if (there == to) return;
    if (place == count && abandoned(there) && made_[there.value] == nullptr) place = i;
  }
  touched_[place] = to;
  if (place == count) count_.store(count + 1, std::memory_order_release);
}

std::vector<dtutils::Endpoint> Connections::endpoints(ProcessId from) const {
  std::vector<dtutils::Endpoint> endpoints;
  for (const auto& transmitter : to(from)) endpoints.push_back(transmitter->endpoint());
  return endpoints;
}

void Connections::connect(ProcessId process, std::span<const dtutils::Endpoint> endpoints) {
  const Transmitters transmitters = to(process);
  if (endpoints.size() != transmitters.size()) {
    throw dtutils::Error(
        fmt::format("process {}", process.value),
        fmt::format("it gives {} endpoints instead of {}", endpoints.size(), transmitters.size()),
        "start all processes from programs of the same build");
  }
  for (std::size_t i = 0; i < transmitters.size(); ++i) transmitters[i]->connect(endpoints[i]);
}

void Connections::hand_out(ProcessId to) noexcept {
  if (uses_ != nullptr) return go_on(to);
  // Release: pairs with find().
  ready_[to.value].store(made_[to.value].load(std::memory_order_relaxed),
                         std::memory_order_release);
}

dtutils::Transmitter& Connections::connect_now(const ThreadContext& context,
                                               ProcessId to) noexcept {
  bool waited = false;
  const HeldTransmitter out(use_now(context, to, waited));
  // It is open, and stays so, since it has a user.
  if (uses_ != nullptr && &*out != &broken_) {
    uses_[to.value].users.fetch_or(kPinned, std::memory_order_relaxed);
    ready_[to.value].store(made_[to.value].load(std::memory_order_relaxed),
                           std::memory_order_release);
  }
  return *out;
}

bool Connections::leads_to(ProcessId process, std::uint32_t queue_pair) const noexcept {
  for (auto& transmitter : to(process)) {
    if (transmitter->queue_pair().raw()->qp_num == queue_pair) return true;
  }
  return false;
}

std::optional<ProcessId> Connections::find(std::uint32_t queue_pair) const noexcept {
  for (const ProcessId process : touched()) {
    if (leads_to(process, queue_pair)) return process;
  }
  return std::nullopt;
}

bool Connections::broken(ProcessId process) const noexcept {
  for (auto& transmitter : to(process)) {
    if (transmitter->broken() || transmitter->queue_pair().state() == IBV_QPS_ERR) return true;
  }
  return false;
}

std::string Connections::why_broken(ProcessId process) const {
  std::string why = "its connection broke";
  for (auto& transmitter : to(process)) {
    if (const auto error = transmitter->error()) return why + ": " + dtutils::describe(*error);
  }
  return why;
}

void Connections::break_off(ProcessId process) noexcept {
  for (auto& transmitter : to(process)) break_connection(*transmitter);
}

bool Connections::give_back(ProcessId process) noexcept {
  bool all = true;
  for (auto& transmitter : to(process)) {
    const bool unconnected = transmitter->queue_pair().state() == IBV_QPS_RESET;
    all = (unconnected || transmitter->give_back()) && all;
  }
  return all;
}

void Connections::finish(std::chrono::milliseconds limit) noexcept {
  for (const ProcessId process : touched()) {
    // Nothing was posted before.
    if (!ready(process)) continue;
    for (auto& transmitter : to(process)) {
      if (!transmitter->flush(limit)) break_connection(*transmitter);
    }
  }
}

}  // namespace dsfabric
