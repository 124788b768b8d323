// SPDX-License-Identifier: MIT
// Tutorial, step 3: word count, which counts locally first, and then calls once for each word.
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "riutils/riutils.hpp"
#include "simulation/settings_only_main.hpp"

namespace {

using Counts = std::map<std::string, std::uint64_t>;

void run(dsfabric::Thread& self) {
  dsfabric::Fabric& fabric = self.fabric();
  Counts owned;  // the words that this worker owns, from all workers
  const dsfabric::DistributedObject<Counts> everyones{self, owned};
  riutils::RDMAAggregator calls{self};

  // Count the words of this worker first. A call for each word that is read would gain nothing: the
  // caller hashes the word to find its owner, and the owner hashes it again.
  Counts mine;
  std::uint64_t words = 0;
  for (int line = 0; line < 1000; ++line) {
    std::istringstream text("the seriema calls the cariama and the cariama answers");
    for (std::string word; text >> word; ++words) ++mine[word];
  }

  // Then call the owner of each *different* word. A std::string cannot be captured, since it points
  // to memory of this process; as an argument, its characters travel with the call.
  for (const auto& [word, count] : mine) {
    const auto hash = static_cast<std::uint32_t>(std::hash<std::string>()(word));
    const dsfabric::ThreadId owner = fabric.thread_of_rank(hash % fabric.total_threads());
    const auto add = [there = everyones.on(owner)](dsfabric::CallContext& call,
                                                   const std::string& which, std::uint64_t more) {
      (*there.get(call.fabric))[which] += more;
    };
    if (calls.call(owner, add, word, count) == dsfabric::CallStatus::kPeerGone) break;
  }
  riutils::wait_for_termination(self);
  for (const auto& [word, count] : owned) fmt::print("{} {}\n", count, word);
  const std::uint64_t all = self.all_reduce(words);
  const std::uint64_t sent = self.all_reduce(std::uint64_t{mine.size()});
  if (fabric.rank_of(self.id()) == 0) fmt::print("{} words, {} calls\n", all, sent);
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  dsfabric::join(argc, argv).run(run);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "word_count: {}\n", error.what());
  return 1;
}
