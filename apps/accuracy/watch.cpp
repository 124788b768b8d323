// SPDX-License-Identifier: MIT
// The watcher's loop, and its statistics.
#include "watch.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "busy_node.hpp"
#include "dtutils/error.hpp"

namespace accuracy {
namespace {

using monitoring::Reading;
using monitoring::Status;

/// A reader of two counters of a process.
class TwoCounters {
 public:
  TwoCounters(dsfabric::Fabric& fabric, dsfabric::ProcessId process)
      : watcher_(fabric), process_(process) {
    read(monitoring::Scheme::kRdmaSync);
    const auto& counters = watcher_.counters(process, reading_.count);
    const auto place_of = [&](const char* name) {
      return static_cast<std::size_t>(
          std::find_if(counters.begin(), counters.end(),
                       [&](const auto& counter) { return counter.name == name; }) -
          counters.begin());
    };
    threads_ = place_of(kThreads);
    connections_ = place_of(kConnections);
    if (std::max(threads_, connections_) >= counters.size()) {
      throw dtutils::Error("the watched process", "it does not count what is watched",
                           "run the same program there");
    }
  }

  Sample sample(monitoring::Scheme scheme) {
    Sample sample;
    sample.asked = now_ns();
    read(scheme);
    sample.came = now_ns();
    sample.said = {reading_.values[threads_], reading_.values[connections_]};
    return sample;
  }

 private:
  void read(monitoring::Scheme scheme) {
    const Status status = watcher_.read(process_, reading_, scheme);
    if (status != Status::kDone) {
      throw dtutils::Error("the watched process", monitoring::to_string(status),
                           "start the job again");
    }
  }

  monitoring::Watcher watcher_;
  dsfabric::ProcessId process_;
  Reading reading_;
  std::size_t threads_ = 0, connections_ = 0;
};

}  // namespace

Samples watch(dsfabric::Fabric& fabric, dsfabric::ProcessId process, std::chrono::seconds duration,
              std::chrono::milliseconds interval) {
  TwoCounters counters(fabric, process);
  Samples samples;
  for (auto& each : samples) each.reserve(static_cast<std::size_t>(duration / interval) + 1);
  const auto end = std::chrono::steady_clock::now() + duration;
  for (std::size_t round = 0; std::chrono::steady_clock::now() < end; ++round) {
    std::this_thread::sleep_for(interval);
    // None is always the one that finds what the one before has left.
    for (std::size_t i = 0; i < kSchemes.size(); ++i) {
      const std::size_t which = (round + i) % kSchemes.size();
      samples[which].push_back(counters.sample(kSchemes[which].scheme));
    }
  }
  return samples;
}

Result compare(std::span<const Sample> samples, std::span<const Change> truth) {
  Result result;
  result.reads = samples.size();
  std::vector<double> took;
  double threads = 0, connections = 0;
  const std::int64_t slice = std::chrono::nanoseconds(kSlice).count();
  std::vector<std::pair<double, std::uint64_t>> slices;
  for (const Sample& sample : samples) {
    const Figures best = deviation(truth, sample.said, sample.asked, sample.came);
    result.untrue += best.threads != 0 || best.connections != 0;
    const Figures off = deviation(truth, sample.said, sample.asked, sample.asked);
    threads += static_cast<double>(off.threads);
    connections += static_cast<double>(off.connections);
    result.threads_most = std::max(result.threads_most, off.threads);
    result.connections_most = std::max(result.connections_most, off.connections);
    took.push_back(static_cast<double>(sample.came - sample.asked) / 1e3);
    const auto at = static_cast<std::size_t>((sample.asked - samples.front().asked) / slice);
    if (slices.size() <= at) slices.resize(at + 1);
    slices[at].first += static_cast<double>(off.connections);
    ++slices[at].second;
  }
  const auto reads = static_cast<double>(result.reads);
  result.threads_mean = threads / reads;
  result.connections_mean = connections / reads;
  std::sort(took.begin(), took.end());
  result.took_median_us = took[took.size() / 2];
  result.took_p99_us = took[took.size() * 99 / 100];
  for (const auto& [sum, count] : slices) {
    result.connections_over_time.push_back(count == 0 ? 0 : sum / static_cast<double>(count));
  }
  return result;
}

}  // namespace accuracy
