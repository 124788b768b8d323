// SPDX-License-Identifier: MIT
// Gets by a Reader: as fresh as the model says, without a network operation where that may be.
#include <atomic>
#include <chrono>

#include "sharing/support/sharing_job.hpp"

using namespace sharing;
using namespace support;
using std::chrono::milliseconds;

namespace {

/// The clock of kTemporal in this process: the tests set it.
std::atomic<std::int64_t> reader_time{0};
std::chrono::nanoseconds reader_clock() { return std::chrono::nanoseconds(reader_time.load()); }

constexpr milliseconds kMostAge{10};

SpaceOptions with_clock() {
  SpaceOptions options = small_space();
  options.clock = reader_clock;
  return options;
}

std::uint64_t read_by(Reader& reader, std::uint64_t* version = nullptr) {
  Words words;
  require_done(reader.get(words, version), "get");
  require(words.whole(), "one value as a whole");
  return words.word[0];
}

void put_words(const Sharer& here, const Datum& datum, std::uint64_t value) {
  require_done(here.client.put(datum, Words::of(value).bytes()), "put");
}

/// "broken" when some get of process 0 or 1 has left out more than `bound` puts of process 2.
std::string behind(const Model& model, std::uint64_t bound) {
  ForkJob job(3, [&](Member& member) {
    const auto body = [&](Sharer& here) {
      const Datum datum = here.shared("data", model, 2);
      Reader reader(here.client, datum);
      for (std::uint64_t value = 1; value < 20; ++value) {
        if (member.rank == 2) put_words(here, datum, value);
        here.self.barrier();
        for (int i = 0; i < 3 && member.rank != 2; ++i) {
          if (read_by(reader) + bound < value) member.memory.words[0] = 1;
        }
        here.self.barrier();
      }
    };
    as_sharer(member, body, with_clock());
  });
  const std::string wrong = job.wait();
  return wrong.empty() && job.memory().words[0] != 0 ? "broken" : wrong;
}

}  // namespace

TEST_CASE("a_reader_of_delta_data_is_as_far_behind_as_the_model_says") {
  CHECK(behind(delta(0), 0) == "");
  CHECK(behind(delta(3), 3) == "");
  CHECK(behind(delta(4), 3) == "broken");
  CHECK(behind(temporal(kMostAge), 3) == "broken");
  CHECK(behind(strict(), 0) == "");
}

TEST_CASE("a_reader_of_temporal_data_reads_the_clock_at_each_get") {
  const auto body = [](Sharer& here) {
    const Datum datum = here.shared("data", temporal(kMostAge), 1);
    Reader reader(here.client, datum);
    reader_time = 1'000'000'000;
    if (here.member.rank == 1) put_words(here, datum, 1);
    here.self.barrier();
    if (here.member.rank == 0) require_equal(read_by(reader), 1u, "the first");
    here.self.barrier();
    if (here.member.rank == 1) put_words(here, datum, 2);
    here.self.barrier();
    if (here.member.rank != 0) return;
    const std::uint64_t fetches = here.client.counters().fetches;
    reader_time += std::chrono::nanoseconds(kMostAge).count();
    for (int i = 0; i < 3; ++i) require_equal(read_by(reader), 1u, "still young enough");
    require_equal(here.client.counters().fetches, fetches, "fetches");
    ++reader_time;
    require_equal(read_by(reader), 2u, "a get of what is too old");
    // Its copy is from the future of the clock now.
    reader_time = 5;
    (void)read_by(reader);
    require_equal(here.client.counters().fetches, fetches + 2, "fetches");
  };
  CHECK(share(2, body, with_clock()) == "");
}

TEST_CASE("a_reader_gets_fresh_data_without_a_network_operation_and_says_their_version") {
  CHECK(share(2, [](Sharer& here) {
          const Datum datum = here.shared("data", delta(0), 1);
          Reader reader(here.client, datum);
          if (here.member.rank == 1) put_words(here, datum, 7);
          here.self.barrier();
          // One alone: who fills the entry at the same time would make others fetch.
          if (here.member.rank == 1) return;
          std::uint64_t version = 0;
          require_equal(read_by(reader, &version), 7u, "value");
          require_equal(version, 1u, "version");
          const ClientCounters before = here.client.counters();
          for (int i = 0; i < 5; ++i) {
            version = 0;
            require_equal(read_by(reader, &version), 7u, "value");
            require_equal(version, 1u, "version");
          }
          require_equal(here.client.counters().fetches, before.fetches, "fetches");
          require_equal(here.client.counters().hits, before.hits + 5, "hits");
          std::uint64_t little = 0;
          require_status(reader.get(little), Status::kWrongSize, "a get of too few bytes");
          require_equal(read_by(reader), 7u, "value after it");
        }) == "");
}

TEST_CASE("a_reader_finds_out_that_another_datum_has_the_place_of_its_copy") {
  SpaceOptions options = small_space();
  options.cached = 1;
  const auto body = [](Sharer& here) {
    const Datum first = here.shared("first", null(), 1);
    const Datum second = here.shared("second", null(), 1);
    if (here.member.rank == 0) {
      put_words(here, first, 1);
      put_words(here, second, 2);
    }
    here.self.barrier();
    Reader of_first(here.client, first);
    Reader of_second(here.client, second);
    for (int i = 0; i < 20; ++i) {
      require_equal(read_by(of_first), 1u, "first");
      require_equal(read_by(of_second), 2u, "second");
      require_equal(read_by(of_second), 2u, "second again");
    }
  };
  CHECK(share(2, body, options) == "");
}

TEST_CASE("data_larger_than_the_cache_takes_are_read_as_well") {
  SpaceOptions options = small_space();
  options.cached_bytes = sizeof(Words) - 8;
  const auto body = [](Sharer& here) {
    const Datum datum = here.shared("data", delta(0), 0);
    Reader reader(here.client, datum);
    for (std::uint64_t value = 1; value < 5; ++value) {
      if (here.member.rank == 1) put_words(here, datum, value);
      here.self.barrier();
      require_equal(read_by(reader), value, "value");
      here.self.barrier();
    }
    require_equal(here.client.counters().hits, 0u, "hits");
  };
  CHECK(share(2, body, options) == "");
}

TEST_CASE("without_the_leader_of_its_host_a_reader_fetches_what_may_have_changed") {
  ForkJob job(3, [](Member& member) {
    as_sharer(member, [&](Sharer& here) {
      const Datum datum = here.shared("data", delta(0), 1);
      Reader reader(here.client, datum);
      (void)read_by(reader);
      (void)read_by(reader);
      here.self.barrier();
      member.memory.words[0]++;
      if (member.rank == 0) {
        for (;;) here.self.progress();
      }
      require(eventually([&] {
                here.self.progress();
                return here.self.fabric().failed({0});
              }),
              "the death is noticed");
      for (std::uint64_t value = 1; value < 5; ++value) {
        if (member.rank == 1) put_words(here, datum, value);
        member.memory.words[1]++;
        here.await(1, 2 * value, "both know");
        require_equal(read_by(reader), value, "the newest");
        member.memory.words[2]++;
        here.await(2, 2 * value, "both have it");
      }
    });
  });
  REQUIRE(eventually([&] { return job.memory().words[0] == 3; }));
  job.kill(0);
  CHECK(job.wait() == "0: signal 9\n");
}
