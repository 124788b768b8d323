// SPDX-License-Identifier: MIT
// Histories: what readers of all modes saw while writers of all modes wrote, held against time.
#include <sys/mman.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "memory/support/memory_job.hpp"
#include "support/random.hpp"

using namespace memory;
using namespace support;

namespace {

constexpr std::size_t kSegments = 6;
using Value = Whole<24>;

/// Of one segment, in memory that all members share: what real time allows a read to give.
struct Times {
  /// Writes that have begun, and that have returned.
  std::atomic<std::uint64_t> begun;
  std::atomic<std::uint64_t> written;
  /// The newest value that any read has returned.
  std::atomic<std::uint64_t> seen;
};

class SharedTimes {
 public:
  SharedTimes()
      : times_(static_cast<Times*>(mmap(nullptr, kSegments * sizeof(Times), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  SharedTimes(const SharedTimes&) = delete;
  SharedTimes& operator=(const SharedTimes&) = delete;
  ~SharedTimes() { munmap(times_, kSegments * sizeof(Times)); }
  Times& operator[](std::size_t i) const { return times_[i]; }

 private:
  Times* times_;
};

void raise(std::atomic<std::uint64_t>& word, std::uint64_t to) {
  std::uint64_t now = word.load();
  while (now < to && !word.compare_exchange_weak(now, to)) {
  }
}

/// A read that began after `floor` was seen or written must not give less: no stale value, also not
/// after another reader's newer one. And none that no write had begun to write.
template <class Read>
void check(Read&& read, Times& times, const std::string& how) {
  const std::uint64_t floor = std::max(times.written.load(), times.seen.load());
  Value value;
  require_done(read(value), "read");
  const std::uint64_t got = value.value();
  require(got >= floor,
          "a stale value: " + std::to_string(got) + " after " + std::to_string(floor) + " " + how);
  require(got <= times.begun.load(), "a value that nobody wrote yet");
  raise(times.seen, got);
}

void check_read(Client& client, const GlobalPtr<Value>& p, Times& times, ReadMode mode) {
  check([&](Value& value) { return client.read(p, value, mode); }, times,
        "in mode " + std::to_string(static_cast<int>(mode)));
}

void check_read(Subscription<Value>& subscription, Times& times) {
  check([&](Value& value) { return subscription.read(value); }, times, "by a subscription");
}

void live(Member& member, const SharedTimes& times, std::uint64_t seed, int steps) {
  MemoryNode node(member);
  Client client(node.space, {.cache_bytes = member.rank == 0 ? 0u : 800u, .subscriptions = 3});
  Client holder(node.space, {.subscriptions = 64});
  std::vector<GlobalPtr<Value>> p(kSegments);
  for (std::size_t i = 0; i < kSegments; ++i) {
    if (member.rank == 0) p[i] = client.allocate<Value>(1, spread());
    p[i] = shared_pointer(node, "p" + std::to_string(i), member.rank == 0 ? &p[i] : nullptr);
  }
  std::vector<std::optional<Subscription<Value>>> held(kSegments);
  Random random(seed * 31 + member.rank);
  std::vector<std::uint64_t> next(kSegments, 1);
  for (int step = 0; step < steps; ++step) {
    const std::size_t which = random.below(kSegments);
    if (which % member.size == member.rank && random.one_in(3)) {
      const std::uint64_t value = next[which]++;
      times[which].begun = value;
      const WriteMode mode = random.one_in(2) ? WriteMode::kByCall : WriteMode::kOneSided;
      require_done(client.write(p[which], Value::of(value), {.mode = mode}), "write");
      raise(times[which].written, value);
    } else if (random.one_in(4)) {
      if (!held[which]) held[which].emplace(holder, p[which]);
      check_read(*held[which], times[which]);
      if (random.one_in(50)) held[which].reset();
    } else {
      check_read(client, p[which], times[which], kModes[random.below(3)]);
    }
    if (step % 16 == 0) {
      node.fabric.progress();
      holder.progress();
    }
  }
  meet(member, node, 0);
  for (std::size_t i = 0; i < kSegments; ++i) {
    for (const ReadMode mode : kModes) check_read(client, p[i], times[i], mode);
    if (held[i]) check_read(*held[i], times[i]);
    require_equal(times[i].seen.load(), times[i].written.load(), "the last value");
  }
  meet(member, node, 1);
}

void run_histories(std::uint32_t members, std::uint64_t seed, int steps,
                   const std::string& adversary) {
  CAPTURE(seed, members, adversary);
  setenv("CARIAMA_SHM_ADVERSARY", adversary.c_str(), 1);
  const SharedTimes times;
  ForkJob job(members, [&](Member& member) { live(member, times, seed, steps); });
  CHECK(job.wait(std::chrono::seconds(60)) == "");
  unsetenv("CARIAMA_SHM_ADVERSARY");
}

}  // namespace

TEST_CASE("readers_never_see_a_torn_or_stale_value") {
  run_histories(3, test_seed(), rounds(40'000), "");
}

TEST_CASE("readers_never_see_a_torn_or_stale_value_on_a_device_that_does_all_it_may") {
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t seed = test_seed() + i;
    run_histories(3, seed, rounds(400), "seed=" + std::to_string(1 + seed % 100'000));
  }
}
