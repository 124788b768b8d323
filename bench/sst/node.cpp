// SPDX-License-Identifier: MIT
// Joining over the bench's own channel.
#include "bench/sst/node.hpp"

#include <chrono>
#include <span>
#include <thread>

#include "bench/fabric/channel_bootstrap.hpp"

namespace sst_bench {
namespace {

dsfabric::Config quiet(const std::string& device) {
  dsfabric::Config config;
  config.device = device;
  config.threads = 1;
  config.service_threads = 0;
  config.pin = false;
  // Rarely, so that the watch threads of many processes on few cores do not disturb a batch.
  config.watch_interval = std::chrono::seconds(2);
  // Small: all of it is touched when the process starts.
  config.superpage = std::size_t{8} << 20;
  return config;
}

}  // namespace

Node::Node(bench::Channel& channel, const std::string& device)
    : fabric(
          dsfabric::join(std::make_unique<fabric_bench::ChannelBootstrap>(channel), quiet(device))),
      group(fabric, {.threads = 1}) {}

void let_others_fall_asleep() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

std::vector<dsfabric::ProcessId> first_processes(std::uint32_t count) {
  std::vector<dsfabric::ProcessId> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({static_cast<std::uint16_t>(i)});
  return all;
}

}  // namespace sst_bench
