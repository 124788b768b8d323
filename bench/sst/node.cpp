// SPDX-License-Identifier: MIT
// Joining over the bench's own channel.
#include "sst/node.hpp"

#include <chrono>
#include <span>
#include <thread>

#include "dsfabric/bootstrap.hpp"

namespace sst_bench {
namespace {

class ChannelBootstrap final : public dsfabric::Bootstrap {
 public:
  explicit ChannelBootstrap(bench::Channel& channel) : channel_(channel) {}
  std::uint32_t rank() const noexcept override {
    return static_cast<std::uint32_t>(channel_.rank());
  }
  std::uint32_t size() const noexcept override {
    return static_cast<std::uint32_t>(channel_.processes());
  }
  std::string name() const override { return "the bench's channel"; }
  std::vector<dsfabric::Bytes> all_gather(std::span<const std::byte> mine,
                                          std::chrono::milliseconds) override {
    std::vector<dsfabric::Bytes> all;
    const char* begin = reinterpret_cast<const char*>(mine.data());
    for (const std::string& each : channel_.gather_bytes({begin, mine.size()})) {
      const auto bytes = std::as_bytes(std::span(each));
      all.emplace_back(bytes.begin(), bytes.end());
    }
    return all;
  }

 private:
  bench::Channel& channel_;
};

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
    : fabric(dsfabric::join(std::make_unique<ChannelBootstrap>(channel), quiet(device))),
      space(fabric, {.threads = 1}) {}

void let_others_fall_asleep() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

std::vector<dsfabric::ProcessId> first_processes(std::uint32_t count) {
  std::vector<dsfabric::ProcessId> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({static_cast<std::uint16_t>(i)});
  return all;
}

}  // namespace sst_bench
