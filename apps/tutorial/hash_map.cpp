// SPDX-License-Identifier: MIT
// Tutorial, step 4: a hash map that is spread over all workers: calls that return a result.
#include <fmt/format.h>

#include <cstdint>
#include <unordered_map>

#include "riutils/riutils.hpp"
#include "simulation/settings_only_main.hpp"

namespace {

constexpr std::uint32_t kKeys = 100;  // that each worker inserts

/// Each worker has one object of this class; together they are the map.
class HashMap {
 public:
  explicit HashMap(dsfabric::Thread& self)
      : fabric_(self.fabric()), parts_(self, mine_), calls_(self) {}

  /// Returns at once. Later calls of this worker to the same owner run after this one.
  dsfabric::CallStatus insert(std::uint32_t key, std::uint64_t value) {
    const dsfabric::ThreadId owner = owner_of(key);
    return calls_.call(owner, [part = parts_.on(owner), key, value](dsfabric::CallContext& call) {
      (*part.get(call.fabric))[key] = value;
    });
  }

  /// Waits for the value, and serves the calls of others meanwhile. A key that nobody inserted has
  /// 0.
  std::uint64_t find(std::uint32_t key) {
    const dsfabric::ThreadId owner = owner_of(key);
    const auto look = [part = parts_.on(owner), key](dsfabric::CallContext& call) {
      return (*part.get(call.fabric))[key];
    };
    return calls_.call_return(owner, look).get();  // when it was refused, get() throws the reason
  }

 private:
  using Part = std::unordered_map<std::uint32_t, std::uint64_t>;
  dsfabric::ThreadId owner_of(std::uint32_t key) const noexcept {
    return fabric_.thread_of_rank(key % fabric_.total_threads());
  }

  dsfabric::Fabric& fabric_;
  Part mine_;
  dsfabric::DistributedObject<Part> parts_;
  riutils::RDMAMessengerGlobal calls_;  // sends each call at once
};

void run(dsfabric::Thread& self) {
  HashMap map{self};
  const std::uint32_t first = 1 + kKeys * self.fabric().rank_of(self.id());
  for (std::uint32_t key = first; key < first + kKeys; ++key) {
    if (map.insert(key, 2 * key) == dsfabric::CallStatus::kPeerGone) break;
  }
  riutils::wait_for_termination(self);  // what all workers inserted is there
  const std::uint32_t all = kKeys * self.fabric().total_threads();
  std::uint64_t wrong = 0;
  for (std::uint32_t key = 1; key <= all; ++key) wrong += map.find(key) != 2 * key;
  if (map.find(all + 1) != 0) ++wrong;
  fmt::print("worker {} found {} keys, {} of them wrong\n", self.id(), all, wrong);
  self.barrier();  // Others may still ask this worker: the map must live until all have finished.
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  dsfabric::join(argc, argv).run(run);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "hash_map: {}\n", error.what());
  return 1;
}
