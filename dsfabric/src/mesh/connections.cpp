// SPDX-License-Identifier: MIT
// Connections: making, finding and breaking queue pairs.
#include "mesh/connections.hpp"

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {

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
                         const Config& config, std::uint32_t processes,
                         std::uint32_t sharing_threads)
    : queue_pairs_(config.queue_pairs), sharing_threads_(sharing_threads) {
  dtutils::TransmitterOptions options = dtutils::TransmitterOptions::for_threads(sharing_threads);
  if (config.send_depth != 0) options.queue_pair.send_depth = config.send_depth;
  options.queue_pair.shared_receive_queue = &receive_queue.queue;
  options.queue_pair.max_inline = kInlineWrite;
  const std::size_t count = std::size_t{processes} * queue_pairs_;
  all_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    all_.push_back(std::make_unique<dtutils::Transmitter>(pd, receive_queue.completions, options));
  }
}

std::vector<dtutils::Endpoint> Connections::endpoints(ProcessId from) const {
  std::vector<dtutils::Endpoint> endpoints;
  for (const auto& transmitter : to(from)) endpoints.push_back(transmitter->endpoint());
  return endpoints;
}

void Connections::connect(ProcessId process, std::span<const dtutils::Endpoint> endpoints) {
  const Transmitters transmitters = to(process);
  for (std::size_t i = 0; i < transmitters.size(); ++i) transmitters[i]->connect(endpoints[i]);
}

bool Connections::leads_to(ProcessId process, std::uint32_t queue_pair) const noexcept {
  for (const auto& transmitter : to(process)) {
    if (transmitter->queue_pair().raw()->qp_num == queue_pair) return true;
  }
  return false;
}

std::optional<ProcessId> Connections::find(std::uint32_t queue_pair) const noexcept {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i]->queue_pair().raw()->qp_num == queue_pair) {
      return ProcessId{static_cast<std::uint16_t>(i / queue_pairs_)};
    }
  }
  return std::nullopt;
}

bool Connections::broken(ProcessId process) const noexcept {
  for (const auto& transmitter : to(process)) {
    if (transmitter->broken() || transmitter->queue_pair().state() == IBV_QPS_ERR) return true;
  }
  return false;
}

std::string Connections::why_broken(ProcessId process) const {
  std::string why = "its connection broke";
  for (const auto& transmitter : to(process)) {
    if (const auto error = transmitter->error()) return why + ": " + dtutils::describe(*error);
  }
  return why;
}

void Connections::break_off(ProcessId process) noexcept {
  for (const auto& transmitter : to(process)) break_connection(*transmitter);
}

void Connections::finish(std::chrono::milliseconds limit) noexcept {
  for (const auto& transmitter : all_) {
    if (!transmitter->flush(limit)) break_connection(*transmitter);
  }
}

}  // namespace dsfabric
