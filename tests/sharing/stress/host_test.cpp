// SPDX-License-Identifier: MIT
// A host of 32 processes with one cache, whose owner dies while all of them use it.
#include <atomic>
#include <chrono>
#include <thread>

#include "sharing/support/sharing_job.hpp"

using namespace sharing;
using namespace support;

namespace {

constexpr std::uint32_t kProcesses = 32;
constexpr std::uint64_t kSurvivors = kProcesses - 1;
/// Who puts, and has the data.
constexpr std::uint32_t kPutter = 5;
/// Words of the job: the number of each put that has returned, and where all have come to.
constexpr std::size_t kReturned = 0, kReady = 8, kNoticed = 9, kKnown = 10, kGot = 11;

struct Kind {
  const char* name;
  Model model;
  /// Versions that a get may be behind.
  std::uint64_t behind;
};
const Kind kKinds[] = {{"delta0", delta(0), 0},
                       {"delta3", delta(3), 3},
                       {"write", write(), 0},
                       {"strict", strict(), 0},
                       {"temporal", temporal(std::chrono::nanoseconds(0)), 0}};

bool excludes(std::size_t which) { return kKinds[which].model.coherence >= Coherence::kWrite; }

/// A get of the datum that has that number: whole, its version, and not too old. Who dies with a
/// lock may leave data of `write` and `strict` damaged, until the next put.
void get(Sharer& here, const Datum& datum, std::size_t which, bool healed) {
  const std::uint64_t returned = here.word(kReturned + which);
  const std::uint64_t behind = kKinds[which].behind;
  Words words;
  std::uint64_t version = 0;
  const Status status = here.client.get(datum, words.bytes(), &version);
  if (!healed && excludes(which) && status == Status::kDamaged) return;
  require_done(status, kKinds[which].name);
  require(words.whole(), "whole");
  require_equal(words.word[0], version, "the value of that version");
  // Until all know of the death, delta data may be as old as it was then.
  require((!healed && !excludes(which)) || version + behind >= returned, "as new as promised");
}

void put(Sharer& here, const Datum& datum, std::size_t which) {
  const std::uint64_t next = here.word(kReturned + which) + 1;
  require_done(here.client.put(datum, Words::of(next).bytes()), kKinds[which].name);
  here.word(kReturned + which) = next;
}

void use_the_host(Sharer& here) {
  dsfabric::Fabric& fabric = here.self.fabric();
  std::vector<Datum> data;
  for (const Kind& kind : kKinds) data.push_back(here.shared(kind.name, kind.model, kPutter));
  const Datum loose = here.shared("null", null(), kPutter);
  here.self.barrier();
  here.word(kReady)++;
  for (std::size_t i = here.member.rank; !fabric.failed({0}); ++i) {
    const std::size_t which = i % data.size();
    if (here.member.rank == kPutter) put(here, data[which], which);
    get(here, data[which], which, false);
    here.self.progress();
  }
  here.word(kNoticed)++;
  here.await(kNoticed, kSurvivors, "all know of the death");
  for (std::uint64_t round = 1; round <= 5; ++round) {
    if (here.member.rank == kPutter) {
      for (std::size_t which = 0; which < data.size(); ++which) put(here, data[which], which);
    }
    here.word(kKnown)++;
    here.await(kKnown, round * kSurvivors, "all know of the put");
    for (std::size_t which = 0; which < data.size(); ++which) get(here, data[which], which, true);
    Words words;
    require_done(here.client.get(loose, words.bytes()), "null");
    here.word(kGot)++;
    here.await(kGot, round * kSurvivors, "all have got it");
  }
}

}  // namespace

TEST_CASE("thirty_two_processes_of_a_host_outlive_the_owner_of_their_cache") {
  ForkJob job(kProcesses, [](Member& member) { as_sharer(member, use_the_host); });
  CHECK(eventually([&] { return job.memory().words[kReady] == kProcesses; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  job.kill(0);
  CHECK(job.wait(std::chrono::seconds(60)) == "0: signal 9\n");
}
