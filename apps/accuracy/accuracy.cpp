// SPDX-License-Identifier: MIT
// How true the schemes of monitoring are about a process that is busy on all of its cores.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "busy_node.hpp"
#include "common/command_line.hpp"
#include "common/figures.hpp"
#include "dsfabric/symmetric_buffer.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "watch.hpp"

namespace {

using namespace accuracy;

constexpr dsfabric::ProcessId kWatcher{0}, kWatched{1};
/// The pause between two steps of the watched process.
constexpr std::chrono::milliseconds kStep{1};
/// Bytes of one RDMA read of the log.
constexpr std::uint32_t kPiece = 1 << 20;

struct Options {
  std::uint64_t seconds = 10;
  std::uint64_t interval_ms = 2;
  std::uint64_t sample_ms = 50;
  std::string json;
};

void check_job(const dsfabric::Fabric& fabric) {
  if (fabric.processes() == 2 && fabric.machines() == 1) return;
  throw dtutils::Error("the job",
                       fmt::format("it has {} process{} on {} machine{}", fabric.processes(),
                                   fabric.processes() == 1 ? "" : "es", fabric.machines(),
                                   fabric.machines() == 1 ? "" : "s"),
                       "start two on one machine, whose clock they share: cariama-run -n 2");
}

/// Works, and changes, until it is told that all is over or the watcher is gone.
void be_watched(dsfabric::Thread& self, Log& log, const Options& options) {
  BusyNode node(self.fabric(), log, kChangesPerSecond * options.seconds);
  const monitoring::Sampler sampler(self.fabric(), std::chrono::milliseconds(options.sample_ms));
  self.barrier();
  while (dtutils::load_device_word(&log.over) == 0 &&
         self.fabric().state(kWatcher) == dsfabric::PeerState::kActive) {
    std::this_thread::sleep_for(kStep);
    self.progress();
    if (!node.step()) break;
  }
  self.barrier();
}

/// Fetches what the watched process has written.
std::span<const Change> fetch(dsfabric::Thread& self, const dsfabric::SymmetricBuffer& buffer) {
  const dtutils::RemoteMemoryLocator& there = buffer.at({kWatched, 0});
  for (std::size_t at = 0; at < buffer.size(); at += kPiece) {
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::size_t>(kPiece, buffer.size() - at));
    if (!self.transmitter(kWatched).blocking_read(buffer.memory().local(at, bytes),
                                                  there.part(at, bytes))) {
      throw dtutils::Error("the watched process", "it is gone", "start the job again");
    }
  }
  Log& log = *reinterpret_cast<Log*>(buffer.data());
  return {log.changes(), log.count};
}

common::Figures json_of(const Result& result) {
  std::vector<common::Figures> slices;
  double at = 0;
  for (const double each : result.connections_over_time) {
    at += std::chrono::duration<double>(kSlice).count();
    slices.push_back({{"at", at}, {"connections", each}});
  }
  return {{"reads", result.reads},
          {"untrue", result.untrue},
          {"took_median_us", result.took_median_us},
          {"took_p99_us", result.took_p99_us},
          {"threads_mean", result.threads_mean},
          {"threads_most", result.threads_most},
          {"connections_mean", result.connections_mean},
          {"connections_most", result.connections_most},
          {"slices", slices}};
}

/// Watches, prints, and says whether RDMA-sync was true at the instant of each read.
bool watch_it(dsfabric::Thread& self, const dsfabric::SymmetricBuffer& buffer,
              const Options& options) {
  self.barrier();
  const Samples samples = watch(self.fabric(), kWatched, std::chrono::seconds(options.seconds),
                                std::chrono::milliseconds(options.interval_ms));
  const std::uint64_t over = 1;
  (void)self.transmitter(kWatched).write({const_cast<std::uint64_t*>(&over), sizeof over, 0},
                                         buffer.at({kWatched, 0}).part(0, sizeof over),
                                         dtutils::kInlined);
  self.barrier();
  const std::span<const Change> truth = fetch(self, buffer);
  fmt::print(
      "A process busy on all of its {} core(s); {} changes of threads and connections in {} s.\n"
      "Distances are those from what was true when the read was asked for.\n\n"
      "{:<13} {:>21} {:>22} {:>19} {:>14}\n{:<13} {:>10} {:>10} {:>14} {:>7} {:>11} {:>7} {:>14}\n",
      cores(), truth.size(), options.seconds, "", "a read takes, us", "connections off by",
      "threads off by", "true at no", "scheme", "median", "p99", "mean", "most", "mean", "most",
      "moment of it");
  common::Figures schemes;
  bool exact = true;
  for (std::size_t i = 0; i < kSchemes.size(); ++i) {
    const Result result = compare(samples[i], truth);
    const double untrue =
        100 * static_cast<double>(result.untrue) / static_cast<double>(result.reads);
    fmt::print("{:<13} {:>10.1f} {:>10.1f} {:>14.2f} {:>7} {:>11.2f} {:>7} {:>12.3g} %\n",
               kSchemes[i].name, result.took_median_us, result.took_p99_us, result.connections_mean,
               result.connections_most, result.threads_mean, result.threads_most, untrue);
    schemes.push_back({kSchemes[i].name, json_of(result)});
    if (kSchemes[i].scheme == monitoring::Scheme::kRdmaSync) exact = result.untrue == 0;
  }
  std::fflush(stdout);
  if (!options.json.empty()) {
    common::write_json(options.json, {{"cores", std::uint64_t{cores()}},
                                      {"seconds", options.seconds},
                                      {"changes", std::uint64_t{truth.size()}},
                                      {"sample_ms", options.sample_ms},
                                      {"schemes", schemes}});
  }
  self.barrier();
  return exact;
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  dsfabric::Config config;
  config.threads = 1;
  // The busy threads, which its workers start, use all cores.
  config.pin = false;
  common::CommandLine line{
      "Process 0 watches process 1, which is busy on all of its cores while its threads and "
      "connections come and go, by all schemes of monitoring, and sets what they say beside the "
      "truth. Fails when RDMA-sync says once what was not true at the instant of the read. Start "
      "two by cariama-run."};
  line.option("--seconds", options.seconds, "How long", 1, 60)
      .option("--interval-ms", options.interval_ms, "ms between reads", 1, 1000)
      .option("--sample-ms", options.sample_ms, "ms between copies of the async schemes", 1, 10'000)
      .option("--json", options.json, "Also write the figures to this file");
  if (const auto status = line.parse(argc, argv, config)) return *status;
  dsfabric::Fabric fabric = dsfabric::join(config);
  check_job(fabric);
  bool exact = true;
  fabric.run([&](dsfabric::Thread& self) {
    dsfabric::SymmetricBuffer buffer(self, log_bytes(kChangesPerSecond * options.seconds));
    Log& log = *reinterpret_cast<Log*>(buffer.data());
    log.over = log.count = 0;
    self.barrier();
    if (self.fabric().process() == kWatcher) {
      exact = watch_it(self, buffer, options);
    } else {
      be_watched(self, log, options);
      self.barrier();
    }
  });
  return exact ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  fmt::print(stderr, "cariama-accuracy: {}\n", error.what());
  return EXIT_FAILURE;
}
