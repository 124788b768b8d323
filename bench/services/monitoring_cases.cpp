// SPDX-License-Identifier: MIT
// Reading the counters of process 1, beside an RDMA read of as many bytes and a call.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "bench/fabric/channel_bootstrap.hpp"
#include "bench/services/cases.hpp"
#include "dsfabric/dsfabric.hpp"
#include "dtutils/rdma_memory.hpp"
#include "monitoring/monitoring.hpp"

namespace services_bench {
namespace {

using monitoring::Scheme;

/// What one RDMA read of a board brings.
constexpr std::size_t kBoardBytes = 1024;

struct Watching {
  Watching(bench::Channel& channel, const std::string& device)
      : fabric(dsfabric::join(std::make_unique<fabric_bench::ChannelBootstrap>(channel),
                              fabric_bench::one_worker(device))),
        board(fabric),
        watcher(fabric),
        scratch(fabric.general_allocator().allocate(kBoardBytes)) {
    for (std::uint32_t i = 0; i < 60; ++i) board.counter("counter." + std::to_string(i)).set(i);
    sampler.emplace(fabric, std::chrono::hours(1));
  }

  dsfabric::Fabric fabric;
  monitoring::Board board;
  monitoring::Watcher watcher;
  dtutils::RDMAMemory scratch;
  std::optional<monitoring::Sampler> sampler;
  std::optional<dsfabric::RemoteMemory> raw;
};
using WatchingPtr = std::shared_ptr<std::unique_ptr<Watching>>;

bench::Variant by(const WatchingPtr& watching, const char* name, Scheme scheme) {
  return {.name = name, .measure = [=](bench::Batch& batch) {
            monitoring::Reading reading;
            return batch.ns_each([&] {
              for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
                if ((*watching)->watcher.read({1}, reading, scheme) != monitoring::Status::kDone) {
                  throw std::runtime_error("a board cannot be read");
                }
              }
            });
          }};
}

}  // namespace

void add_monitoring_cases(bench::Suite& suite, const std::string& device) {
  const auto watching = std::make_shared<std::unique_ptr<Watching>>();
  bench::Case item{.name = "monitor_read", .size = kBoardBytes};
  item.prepare = [=, &device](bench::Channel& channel) {
    *watching = std::make_unique<Watching>(channel, device);
    Watching& here = **watching;
    if (channel.rank() == 0) here.raw = here.fabric.allocate_remote({1}, kBoardBytes);
    channel.barrier();
  };
  item.finish = [=](bench::Channel& channel) {
    channel.barrier();
    watching->reset();
  };
  const auto raw = [=](bench::Batch& batch) {
    Watching& here = **watching;
    return batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        if (!here.fabric.transmitter({1}).blocking_read(here.scratch.local(0, kBoardBytes),
                                                        here.raw->locator())) {
          throw std::runtime_error("the peer is gone");
        }
      }
    });
  };
  item.variants = {{.name = "rdma_read", .measure = raw},
                   by(watching, "rdma_sync", Scheme::kRdmaSync),
                   by(watching, "rdma_async", Scheme::kRdmaAsync),
                   by(watching, "message_sync", Scheme::kMessageSync),
                   by(watching, "message_async", Scheme::kMessageAsync)};
  item.ratios = {{.over = "rdma_sync", .under = "rdma_read", .bar = "<= 1.1"},
                 {.over = "message_async", .under = "rdma_sync"},
                 {.over = "message_sync", .under = "rdma_sync"}};
  suite.add(std::move(item));
}

}  // namespace services_bench
