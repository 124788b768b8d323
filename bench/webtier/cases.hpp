// SPDX-License-Identifier: MIT
// The cases of webtier_bench; bench/README.md describes them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "bench/fabric/channel_bootstrap.hpp"
#include "bench/harness/bench.hpp"
#include "dsfabric/dsfabric.hpp"

namespace webtier_bench {

/// Add cases. `device` outlives the suite.
void add_sharing_cases(bench::Suite& suite, const std::string& device);
void add_neighbour_cases(bench::Suite& suite, const std::string& device);
void add_trace_cases(bench::Suite& suite, const std::string& device);

inline void must(bool condition, const char* what) {
  if (!condition) [[unlikely]]
    throw std::runtime_error(what);
}

inline dsfabric::Fabric join(bench::Channel& channel, const std::string& device) {
  return dsfabric::join(std::make_unique<fabric_bench::ChannelBootstrap>(channel),
                        fabric_bench::one_worker(device));
}

/// What a case keeps in each process from `prepare` to `finish`.
template <class Node>
using Kept = std::shared_ptr<std::unique_ptr<Node>>;

template <class Node>
Kept<Node> keep(bench::Case& item, const std::string& device) {
  const auto kept = std::make_shared<std::unique_ptr<Node>>();
  item.prepare = [=, &device](bench::Channel& channel) {
    *kept = std::make_unique<Node>(channel, device);
    channel.barrier();
  };
  item.finish = [=](bench::Channel& channel) {
    channel.barrier();
    kept->reset();
  };
  return kept;
}

}  // namespace webtier_bench
