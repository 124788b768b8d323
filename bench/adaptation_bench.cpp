// SPDX-License-Identifier: MIT
// How long nodes take to follow the load: a decider that looks every millisecond, or every second.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "adaptation/adaptation.hpp"
#include "bench/fabric/channel_bootstrap.hpp"
#include "bench/harness/bench.hpp"
#include "dsfabric/dsfabric.hpp"

namespace {

using adaptation::Decider;
using adaptation::DeciderOptions;
using adaptation::Node;
using adaptation::Outcome;
using adaptation::SiteId;
using std::chrono::milliseconds;

constexpr int kProcesses = 8;
constexpr std::size_t kNodes = kProcesses - 1;
const std::vector<adaptation::Site> kSites{{.name = "a"}, {.name = "b"}};
/// Work that comes to a site, a second; its nodes have equal parts of it.
constexpr std::uint64_t kMuch = 600, kLittle = 100;
/// 90 % of the nodes that the loaded site gets at last.
constexpr std::size_t kEnough = 6;

/// Counters of process 0: work of both sites, nodes of both sites, the end of a batch.
enum { kWork, kCount = 2, kEnds = 4 };

/// Process 0 decides, the others are nodes.
class Job {
 public:
  Job(bench::Channel& channel, const std::string& device)
      : channel_(channel),
        fabric_(dsfabric::join(std::make_unique<fabric_bench::ChannelBootstrap>(channel),
                               fabric_bench::one_worker(device))) {
    if (channel.rank() != 0) {
      const auto site = static_cast<std::uint8_t>(channel.rank() % 2);
      node_.emplace(fabric_, kSites, SiteId{site});
      ++count(site);
    }
    channel.barrier();
  }

  /// Serves until the decider has measured.
  void serve(bench::Batch& batch) {
    const std::uint64_t ends = channel_.counter(0, kEnds) + 1;
    batch.channel().barrier();
    while (channel_.counter(0, kEnds) < ends) {
      const SiteId site = node_->serving();
      node_->load(1000 * channel_.counter(0, kWork + site.value) / count(site.value));
      if (const auto move = node_->moved()) {
        --count(move->from.value);
        ++count(move->to.value);
        node_->serve(move->to);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  /// Turns the loads of the sites round as often as the batch says; the mean time until the nodes
  /// have followed, in ns.
  double measure(bench::Batch& batch, const DeciderOptions& options, milliseconds pause) {
    Decider decider(fabric_, kSites, options);
    batch.channel().barrier();
    double ns = 0;
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      const std::uint8_t loaded = turns_++ % 2;
      channel_.counter(0, kWork + loaded) = kMuch;
      channel_.counter(0, kWork + 1 - loaded) = kLittle;
      ns += batch.time_ns([&] {
        while (count(loaded) < kEnough) {
          std::this_thread::sleep_for(pause);
          (void)decider.step();
        }
      });
    }
    ++channel_.counter(0, kEnds);
    return ns / static_cast<double>(batch.iterations());
  }

 private:
  std::atomic<std::uint64_t>& count(std::uint8_t site) noexcept {
    return channel_.counter(0, kCount + site);
  }

  bench::Channel& channel_;
  dsfabric::Fabric fabric_;
  std::optional<Node> node_;
  std::uint64_t turns_ = 0;
};

bench::Variant variant(const std::unique_ptr<Job>& job, const char* name,
                       const DeciderOptions& options, milliseconds pause) {
  return {.name = name,
          .measure =
              [=, &job](bench::Batch& batch) {
                return job->measure(batch, options, batch.smoke() ? milliseconds(1) : pause);
              },
          .assist = [&job](bench::Batch& batch) { job->serve(batch); }};
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "shm";
  std::unique_ptr<Job> job;
  bench::Suite suite(argc, argv, "adaptation_bench", "nodes that follow the load of sites");
  suite.processes(kProcesses);
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.setup([&](bench::Channel& channel) { job = std::make_unique<Job>(channel, device); });
  suite.teardown([&](bench::Channel& channel) {
    channel.barrier();
    job.reset();
  });
  DeciderOptions fine{.samples = 3, .settle = milliseconds(2), .memory = milliseconds(0)};
  // One sample is all that it has in a second.
  DeciderOptions coarse{.samples = 1, .settle = milliseconds(0), .memory = milliseconds(0)};
  suite.add({.name = "load_step",
             .size = kNodes,
             .variants = {variant(job, "every_ms", fine, milliseconds(1)),
                          variant(job, "every_s", coarse, milliseconds(1000))},
             .ratios = {{.over = "every_ms", .under = "every_s", .bar = "<= 0.2"}},
             .oversubscribed = true,
             .min_iterations = 2,
             .max_iterations = 2});
  return suite.run();
}
