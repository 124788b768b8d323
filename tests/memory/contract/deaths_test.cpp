// SPDX-License-Identifier: MIT
// A process dies: its home's operations end, its locks and subscriptions are taken away.
#include <signal.h>

#include <vector>

#include "memory/support/memory_job.hpp"

using namespace memory;
using namespace support;

namespace {

/// Waits until this process has noticed the death of another.
void await_death(MemoryNode& node, std::uint16_t process) {
  require(eventually([&] {
            node.fabric.progress();
            return node.fabric.failed({process});
          }),
          "the death is noticed");
}

}  // namespace

TEST_CASE("a_home_that_dies_ends_all_operations_on_it") {
  ForkJob job(2, [](Member& member) {
    MemoryNode node(member);
    if (member.rank == 1) {
      for (;;) dtutils::sleep_for(std::chrono::seconds(1));
    }
    Client client(node.space);
    const auto p = client.allocate<Whole<20>>(1, there({1}));
    const auto q = client.allocate<std::uint64_t>(1, there({1}), Kind::kPlain);
    Whole<20> seen;
    for (const ReadMode mode : kModes) require_done(client.read(p, seen, mode), "read");
    member.memory.words[0] = 1;
    // It dies somewhere in here.
    Status status = Status::kDone;
    require(eventually([&] {
              Batch batch(client);
              for (int i = 0; i < 10; ++i) batch.write(p, Whole<20>::of(1));
              batch.read(p, seen, ReadMode::kCached);
              status = batch.wait();
              return status != Status::kDone;
            }),
            "the death is noticed");
    require_status(status, Status::kHomeFailed, "batch");
    await_death(node, 1);
    require(eventually(
                [&] { return client.read(p, seen, ReadMode::kSubscribed) == Status::kHomeFailed; }),
            "subscribed reads end");
    for (const ReadMode mode : kModes) {
      require_status(client.read(p, seen, mode), Status::kHomeFailed, "read");
      require_status(client.read(p, seen, mode), Status::kHomeFailed, "read again");
    }
    std::uint64_t word = 0;
    require_status(client.write(p, seen), Status::kHomeFailed, "write");
    require_status(client.write(p, seen, {.mode = WriteMode::kOneSided}), Status::kHomeFailed,
                   "one-sided write");
    require_status(client.write(p, seen, {.causal = true}), Status::kHomeFailed, "causal write");
    require_status(client.read(q, word), Status::kHomeFailed, "plain read");
    require_status(client.fetch_add(q, 1, word), Status::kHomeFailed, "plain add");
    require_status(client.free(p), Status::kHomeFailed, "free");
    bool thrown = false;
    try {
      client.require(client.read(p, seen), p, "reading");
    } catch (const dsfabric::PeerFailed& failed) {
      thrown = failed.process().value == 1;
    }
    require(thrown, "PeerFailed names the home");
    thrown = false;
    try {
      (void)client.allocate<int>(1, there({1}));
    } catch (const dsfabric::PeerFailed&) {
      thrown = true;
    }
    require(thrown, "allocate throws PeerFailed");
    require_equal(client.allocate<int>(1, spread()).home().value, 0, "spread leaves it out");
  });
  CHECK(eventually([&] { return job.memory().words[0] == 1; }));
  job.kill(1);
  CHECK(job.wait() == "1: signal 9\n");
}

TEST_CASE("a_subscriber_that_dies_holds_no_writer_up") {
  ForkJob job(3, [](Member& member) {
    MemoryNode node(member);
    Client client(node.space);
    GlobalPtr<Whole<10>> p;
    if (member.rank == 0) p = client.allocate<Whole<10>>();
    p = shared_pointer(node, "p", member.rank == 0 ? &p : nullptr);
    Whole<10> seen;
    require_done(client.read(p, seen, ReadMode::kSubscribed), "subscribe");
    member.memory.words[0]++;
    if (member.rank == 2) {
      // A copy that is there is read without a wait.
      for (;;) {
        (void)client.read(p, seen, ReadMode::kSubscribed);
        dtutils::found_nothing();
      }
    }
    std::uint64_t value = 0;
    while (!node.fabric.failed({2})) {
      if (member.rank == 0) require_done(client.write(p, Whole<10>::of(++value)), "write");
      require_done(client.read(p, seen, ReadMode::kSubscribed), "read");
      (void)seen.value();
      node.fabric.progress();
    }
    if (member.rank == 0) require_done(client.write(p, Whole<10>::of(1'000'000'000)), "write");
    require(eventually([&] {
              node.fabric.progress();
              require_done(client.read(p, seen, ReadMode::kSubscribed), "read");
              return seen.value() == 1'000'000'000;
            }),
            "the survivor sees the last write");
    member.memory.words[1]++;
    require(eventually([&] { return member.memory.words[1] >= 2; }), "both survive");
  });
  CHECK(eventually([&] { return job.memory().words[0] == 3; }));
  job.kill(2);
  CHECK(job.wait() == "2: signal 9\n");
}

TEST_CASE("whoever_dies_at_any_moment_leaves_segments_that_can_be_written") {
  for (int moment = 0; moment < 6; ++moment) {
    CAPTURE(moment);
    ForkJob job(3, [](Member& member) {
      MemoryNode node(member);
      Client client(node.space);
      std::vector<GlobalPtr<Whole<40>>> p(3);
      for (int i = 0; i < 3; ++i) {
        if (member.rank == 0) p[i] = client.allocate<Whole<40>>();
        p[i] = shared_pointer(node, "p" + std::to_string(i), member.rank == 0 ? &p[i] : nullptr);
      }
      member.memory.words[0]++;
      Whole<40> seen;
      for (std::uint64_t i = 0; !node.fabric.failed({2}); ++i) {
        node.fabric.progress();
        const auto& here = p[i % 3];
        if (member.rank != 1) {
          // A write of the whole is never refused, whoever died in the middle of another.
          require_done(
              client.write(here, Whole<40>::of(i),
                           {.mode = i % 2 == 0 ? WriteMode::kOneSided : WriteMode::kByCall}),
              "write");
        }
        const Status status =
            client.read(here, seen, i % 2 == 0 ? ReadMode::kCached : ReadMode::kValidated);
        if (status != Status::kDamaged) {
          require_done(status, "read");
          (void)seen.value();
        }
      }
      member.memory.words[1]++;
      require(eventually([&] { return member.memory.words[1] >= 2; }), "both survive");
      for (const auto& each : p) {
        require_done(client.write(each, Whole<40>::of(5), {.mode = WriteMode::kOneSided}), "write");
        require_done(client.read(each, seen, ReadMode::kCached), "read");
        (void)seen.value();
      }
      member.memory.words[2]++;
      require(eventually([&] { return member.memory.words[2] >= 2; }), "both have written");
    });
    CHECK(eventually([&] { return job.memory().words[0] == 3; }));
    dtutils::sleep_for(std::chrono::microseconds(1'700 * moment));
    job.kill(2);
    REQUIRE(job.wait() == "2: signal 9\n");
  }
}
