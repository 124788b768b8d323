// SPDX-License-Identifier: MIT
// What the cases of locks share: spaces of all four schemes on the workers of a node.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/services/cases.hpp"
#include "locks/locks.hpp"

namespace services_bench {

/// A LockSpace of each scheme for each worker of a node, for as long as a case runs.
class LockSpaces {
 public:
  /// A collective of both processes.
  void make(fabric_bench::Node& node, std::uint32_t workers, std::uint32_t locks) {
    spaces_.resize(workers);
    node.run([&](dsfabric::Thread& self) {
      for (std::size_t i = 0; i < 4; ++i) {
        locks::LockSpaceOptions options;
        options.locks = locks;
        options.scheme = static_cast<locks::Scheme>(i);
        spaces_[self.id().index][i] = std::make_unique<locks::LockSpace>(self, options);
      }
      return 0.0;
    });
  }
  void reset(fabric_bench::Node& node) {
    node.run([&](dsfabric::Thread& self) {
      self.barrier();
      for (auto& space : spaces_[self.id().index]) space.reset();
      return 0.0;
    });
  }
  template <class M>
  locks::LockSpace& of(dsfabric::Thread& self) {
    return *spaces_[self.id().index][static_cast<std::size_t>(M::kScheme)];
  }

 private:
  std::vector<std::array<std::unique_ptr<locks::LockSpace>, 4>> spaces_;
};
using LockSpacesPtr = std::shared_ptr<LockSpaces>;

/// Words of a case that both processes see without the device; made before the fork.
struct LockBoard {
  alignas(64) std::atomic<std::uint64_t> asked;
  alignas(64) std::atomic<std::uint64_t> released_at;
  alignas(64) std::atomic<std::uint64_t> done;
  alignas(64) std::atomic<std::uint64_t> rounds;
  /// Of each process.
  struct alignas(64) Line {
    std::atomic<std::uint64_t> word;
  };
  Line last[2];
};

void add_lock_latency_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);
void add_lock_cascade_case(bench::Suite& suite, const fabric_bench::NodePtr& node);
void add_lock_contended_cases(bench::Suite& suite, const fabric_bench::NodePtr& node,
                              const std::string& device);

}  // namespace services_bench
