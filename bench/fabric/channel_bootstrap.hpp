// SPDX-License-Identifier: MIT
// The processes of a bench meet over the harness's own channel, without a launcher.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/bench.hpp"
#include "dsfabric/bootstrap.hpp"
#include "dsfabric/config.hpp"

namespace fabric_bench {

/// The channel outlives it. Setup only.
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

/// Settings of a process with one worker, which stays on the core that the bench has given it.
inline dsfabric::Config one_worker(const std::string& device) {
  dsfabric::Config config;
  config.device = device;
  config.threads = 1;
  config.pin = false;
  return config;
}

}  // namespace fabric_bench
