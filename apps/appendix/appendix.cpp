// SPDX-License-Identifier: MIT
// Seriema's appendix A with our API: a buffer to every thread by one-sided writes, and an answer.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>
#include <span>

#include "riutils/riutils.hpp"
#include "simulation/settings_only_main.hpp"

namespace {

void work(dsfabric::Thread& self) {
  riutils::RDMAMessengerGlobal messenger{self};  // rings come with the first call to each thread
  std::array<std::uint32_t, 1000> data;
  std::iota(data.begin(), data.end(), 1);

  std::uint32_t answers = 0;
  const dsfabric::DistributedObject<std::uint32_t> counters{self, answers};
  const std::uint32_t threads = self.fabric().total_threads();
  for (std::uint32_t rank = 0; rank < threads; ++rank) {
    const dsfabric::ThreadId to = self.fabric().thread_of_rank(rank);
    // The buffer travels with the call. Runs on thread `to`, which may go on with it as it likes.
    const auto consume = [count = counters.on(self.id())](dsfabric::CallContext& call,
                                                          const std::byte* bytes,
                                                          std::uint32_t size) {
      std::uint64_t sum = 0;
      for (std::uint32_t at = 0; at < size; at += sizeof(std::uint32_t)) {
        std::uint32_t each;
        std::memcpy(&each, bytes + at, sizeof each);
        sum += each;
      }
      fmt::print("thread {} summed {} in the buffer of thread {}\n", call.worker->id(), sum,
                 call.source);
      // Once a buffer, so a message will do: it needs no ring.
      dsfabric::SendChannel answer{call.fabric};
      (void)answer.call(call.source,
                        [count](dsfabric::CallContext& there) { ++*count.get(there.fabric); });
    };
    const auto status = messenger.call_buffer(to, consume, std::as_bytes(std::span(data)));
    if (status == dsfabric::CallStatus::kPeerGone) fmt::print("thread {} is gone\n", to);
  }
  while (answers < threads) self.progress();  // serves what the others call
  self.barrier();
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  fabric.run(work);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "appendix: {}\n", error.what());
  return EXIT_FAILURE;
}
