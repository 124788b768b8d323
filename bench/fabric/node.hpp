// SPDX-License-Identifier: MIT
// The fixture of benches above DTutils: one process of a fabric whose workers do what it is
// handed.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "bench/harness/bench.hpp"
#include "dsfabric/dsfabric.hpp"

namespace fabric_bench {

/// Both processes make theirs at the same time, in Suite::setup(). The worker runs on the core of
/// the main thread, which sleeps meanwhile; several share it unless the case lets them go. Owner
/// thread only.
class Node {
 public:
  Node(bench::Channel& channel, const std::string& device, std::uint32_t threads = 1);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  /// Runs `work` on every worker and returns the figure of the first; throws what one throws.
  double run(const std::function<double(dsfabric::Thread&)>& work);

 private:
  void serve(dsfabric::Thread& self);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<double(dsfabric::Thread&)>* work_ = nullptr;
  std::uint32_t threads_;
  std::uint64_t round_ = 0;
  std::uint32_t running_ = 0;
  double figure_ = 0;
  std::exception_ptr error_;
  bool stop_ = false;
  std::unique_ptr<dsfabric::Fabric> fabric_;
  std::thread runner_;
};

/// Empty until Suite::setup(); in each process its own.
using NodePtr = std::unique_ptr<Node>;

/// A variant's function: `work` on the worker, in the process that calls it.
template <class Work>
auto on_worker(const NodePtr& node, Work work) {
  return [&node, work](bench::Batch& batch) {
    return node->run([&](dsfabric::Thread& self) { return work(self, batch); });
  };
}

}  // namespace fabric_bench
