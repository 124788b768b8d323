// SPDX-License-Identifier: MIT
// Joining over the bench's own channel, and one timed search.
#include "bench/mcts/jobs.hpp"

#include <sched.h>

#include <chrono>
#include <span>
#include <stdexcept>

#include "bench/fabric/channel_bootstrap.hpp"
#include "bench/mcts/plain_uct.hpp"
#include "dsfabric/bootstrap.hpp"
#include "games/hex.hpp"
#include "mcts/mcts.hpp"
#include "mcts/ring_links.hpp"

namespace mcts_bench {
namespace {

using games::Hex11;

class AloneBootstrap final : public dsfabric::Bootstrap {
 public:
  std::uint32_t rank() const noexcept override { return 0; }
  std::uint32_t size() const noexcept override { return 1; }
  std::string name() const override { return "nobody"; }
  std::vector<dsfabric::Bytes> all_gather(std::span<const std::byte> mine,
                                          std::chrono::milliseconds) override {
    return {dsfabric::Bytes(mine.begin(), mine.end())};
  }
};

dsfabric::Config config_of(const std::string& device, std::uint32_t threads) {
  dsfabric::Config config;
  config.device = device;
  config.threads = threads;
  config.service_threads = 0;
  config.pin = false;  // a worker inherits where its process may run
  config.superpage = std::size_t{8} << 20;
  return config;
}

template <mcts::SearchChannel Channel>
double timed(dsfabric::Fabric& fabric, const mcts::Settings& settings, std::uint64_t rollouts) {
  constexpr std::size_t kMemory = std::size_t{2} << 30;
  double rate = 0;
  mcts::run<Hex11, Channel>(fabric, kMemory, [&](mcts::Searcher<Hex11, Channel>& searcher) {
    mcts::Limits limits;
    limits.rollouts = rollouts;
    const mcts::Report report = searcher.think(Hex11(11), settings, limits);
    if (!report.failure.empty() || report.total.simulations != rollouts) {
      throw std::runtime_error("the search lost rollouts: " + report.failure);
    }
    rate = static_cast<double>(rollouts) * settings.playouts / report.seconds;
  });
  return rate;
}

void set_cores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

Jobs::Jobs(bench::Channel& channel, const std::string& device)
    : together(dsfabric::join(std::make_unique<fabric_bench::ChannelBootstrap>(channel),
                              config_of(device, 1))),
      alone(dsfabric::join(std::make_unique<AloneBootstrap>(), config_of(device, 1))),
      two_threads(dsfabric::join(std::make_unique<AloneBootstrap>(), config_of(device, 2))),
      cores(channel.cores()) {}

double search(dsfabric::Fabric& fabric, Calls calls, const mcts::Settings& settings,
              std::uint64_t rollouts) {
  switch (calls) {
    case Calls::kTraditional:
      return timed<mcts::TraditionalLink>(fabric, settings, rollouts);
    case Calls::kOverflow:
      return timed<mcts::OverflowLink>(fabric, settings, rollouts);
    default:
      return timed<mcts::MessengerLink>(fabric, settings, rollouts);
  }
}

double search_plainly(const mcts::Settings& settings, std::uint64_t rollouts) {
  const double begin = bench::now_ns();
  PlainUct<Hex11> uct(Hex11(11), settings.playouts, mcts::exploration_of(settings, false),
                      settings.seed);
  for (std::uint64_t i = 0; i < rollouts; ++i) uct.rollout();
  if (uct.nodes() < rollouts / 2) throw std::runtime_error("the plain search made no tree");
  return static_cast<double>(rollouts) * settings.playouts * 1e9 / (bench::now_ns() - begin);
}

AllCores::AllCores(const std::vector<int>& cores) : before_(bench::usable_cores()) {
  set_cores(cores);
}
AllCores::~AllCores() { set_cores(before_); }

}  // namespace mcts_bench
