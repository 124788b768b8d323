// SPDX-License-Identifier: MIT
// Names, places and sizes; bad input; a home, a leader and a holder that die.
#include <thread>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/error.hpp"
#include "sharing/support/sharing_job.hpp"

using namespace sharing;
using namespace support;

namespace {

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const dtutils::Error& error) {
    return error.what();
  }
  return "";
}

constexpr Model kModels[] = {
    {Coherence::kNull, 0, {}},  {Coherence::kTemporal, 0, std::chrono::milliseconds(1)},
    {Coherence::kDelta, 2, {}}, {Coherence::kRead, 0, {}},
    {Coherence::kWrite, 0, {}}, {Coherence::kStrict, 0, {}}};

}  // namespace

TEST_CASE("a_space_for_no_data_or_for_too_many_is_refused") {
  ForkJob job(1, [](Member& member) {
    dsfabric::Fabric fabric = member.join();
    for (const SpaceOptions& options :
         {SpaceOptions{.data = 0}, {.data = 0xffff'ffff}, {.cached = 0xffff'ffff}}) {
      const std::string text = refusal([&] { Space space(fabric, options); });
      require(text.find("SpaceOptions::data and cached") != std::string::npos, text);
    }
  });
  CHECK(job.wait() == "");
}

TEST_CASE("data_of_every_size_model_and_place_are_found_by_their_names") {
  CHECK(share(2, [](Sharer& here) {
          for (const Model& model : kModels) {
            for (const std::uint32_t bytes : {1u, 8u, 100u, 4096u, 20'000u}) {
              for (const std::uint16_t home : {0, 1}) {
                const std::string name = std::to_string(bytes) + "/" + std::to_string(home);
                std::vector<std::byte> value(bytes), seen(bytes, std::byte{9});
                if (here.member.rank == 0) {
                  const Datum made =
                      here.client.allocate(name, bytes, model, memory::there({home}));
                  require_equal(made.home().value, home, "home");
                  require_done(here.client.get(made, seen), "the first get");
                  require(seen == value, "it begins as zeros");
                  for (std::uint32_t i = 0; i < bytes; ++i) value[i] = std::byte(i * 7 + home);
                  require_done(here.client.put(made, value), "put");
                }
                here.self.barrier();
                if (here.member.rank == 1) {
                  const auto datum = here.client.find(name);
                  require(datum.has_value(), "found");
                  for (std::uint32_t i = 0; i < bytes; ++i) value[i] = std::byte(i * 7 + home);
                  require(eventually([&] {
                            require_done(here.client.get(*datum, seen), "get");
                            // The weak models may give what the other process has got before.
                            return seen == value || model.coherence == Coherence::kNull ||
                                   model.coherence == Coherence::kDelta;
                          }),
                          "the value");
                  require_done(here.client.free(name), "free");
                  require(!here.client.find(name).has_value(), "it is gone");
                  require_status(here.client.free(name), Status::kFreed, "free again");
                }
                here.self.barrier();
              }
            }
          }
        }) == "");
}

TEST_CASE("bad_names_sizes_and_data_are_told_apart") {
  CHECK(share(1, [](Sharer& here) {
          Client& client = here.client;
          const Datum datum = client.allocate("data", 8, strict());
          std::byte bytes[9]{};
          require_status(client.get(datum, std::span(bytes)), Status::kWrongSize, "9 bytes");
          require_status(client.put(datum, std::span(bytes, 7)), Status::kWrongSize, "7 bytes");
          require_status(client.get(Datum{}, std::span(bytes)), Status::kWrongSize, "no data");
          const auto says = [&](const std::string& name, std::uint32_t size, const char* text) {
            const std::string found = refusal([&] { (void)client.allocate(name, size, strict()); });
            require(found.find(text) != std::string::npos, found);
          };
          says("data", 8, "the name is taken");
          says("", 8, "no name");
          says(std::string(64, 'n'), 8, "no name");
          says("none", 0, "cannot have 0 bytes");
          says("much", 1u << 31, "cannot have");
          require(!client.find("none").has_value() && !client.find(std::string(100, 'n')),
                  "nothing was made");
          for (int i = 0; i < 63; ++i) (void)client.allocate(std::to_string(i), 8, null());
          says("more", 8, "no number left");
          for (const Model& model : kModels) {
            require_done(client.free("data"), "free");
            const Datum old = client.allocate("data", 8, model);
            require_done(client.free("data"), "free");
            require_status(client.get(old, std::span(bytes, 8)), Status::kFreed, "get");
            (void)client.allocate("data", 8, model);
          }
        }) == "");
}

TEST_CASE("processes_with_other_options_share_nothing") {
  ForkJob job(2, [](Member& member) {
    dsfabric::Fabric fabric = member.join();
    SpaceOptions options = small_space();
    options.data += member.rank;
    const std::string text = refusal([&] { Space space(fabric, options); });
    require(text.find("SpaceOptions are others") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("whoever_dies_in_the_middle_of_puts_leaves_data_that_can_be_put") {
  for (const Model& model : kModels) {
    CAPTURE(static_cast<int>(model.coherence));
    ForkJob job(3, [&](Member& member) {
      as_sharer(member, [&](Sharer& here) {
        dsfabric::Thread& self = here.self;
        dsfabric::Fabric& fabric = here.self.fabric();
        Client& client = here.client;
        const Datum datum = here.shared("data", model, 0);
        const Datum lost = here.shared("lost", model, 2);
        member.memory.words[0]++;
        Words words;
        for (std::uint64_t value = 1; !fabric.failed({2}); ++value) {
          self.progress();
          if (member.rank != 1) require_done(client.put(datum, Words::of(value).bytes()), "put");
          const Status status = client.get(datum, words.bytes());
          if (status != Status::kDamaged) require_done(status, "get");
          if (model.coherence != Coherence::kNull && status == Status::kDone) {
            require(words.whole(), "whole");
          }
        }
        require(eventually([&] { return client.put(lost, words.bytes()) == Status::kHomeFailed; }),
                "a put of what is lost");
        if (model.coherence >= Coherence::kRead) {
          require_status(client.get(lost, words.bytes()), Status::kHomeFailed, "get");
        }
        member.memory.words[1]++;
        here.await(1, 2, "both survive");
        require_done(client.put(datum, Words::of(7).bytes()), "the last put");
        if (model.coherence >= Coherence::kRead) {
          require_done(client.get(datum, words.bytes()), "the last get");
          require_equal(words.word[0], 7u, "value");
        }
        member.memory.words[2]++;
        here.await(2, 2, "both are done");
      });
    });
    CHECK(eventually([&] { return job.memory().words[0] == 3; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    job.kill(2);
    CHECK(job.wait() == "2: signal 9\n");
  }
}

TEST_CASE("without_the_leader_of_its_host_a_process_fetches_what_may_have_changed") {
  ForkJob job(3, [](Member& member) {
    as_sharer(member, [&](Sharer& here) {
      dsfabric::Thread& self = here.self;
      dsfabric::Fabric& fabric = here.self.fabric();
      Client& client = here.client;
      const Datum datum = here.shared("data", delta(0), 1);
      Words words;
      require_done(client.get(datum, words.bytes()), "get");
      self.barrier();
      member.memory.words[0]++;
      if (member.rank == 0) {
        for (;;) self.progress();
      }
      require(eventually([&] {
                self.progress();
                return fabric.failed({0});
              }),
              "the death is noticed");
      for (std::uint64_t value = 1; value < 5; ++value) {
        if (member.rank == 1) {
          require_done(client.put(datum, Words::of(value).bytes()), "put");
        }
        member.memory.words[value]++;
        here.await(value, 2, "both know");
        require_done(client.get(datum, words.bytes()), "get");
        require_equal(words.word[0], value, "the newest");
        member.memory.words[value + 5]++;
        here.await(value + 5, 2, "both have got it");
      }
    });
  });
  CHECK(eventually([&] { return job.memory().words[0] == 3; }));
  job.kill(0);
  CHECK(job.wait() == "0: signal 9\n");
}

TEST_CASE("whoever_dies_while_it_fills_the_cache_of_the_host_harms_no_copy") {
  ForkJob job(3, [](Member& member) {
    as_sharer(member, [&](Sharer& here) {
      dsfabric::Thread& self = here.self;
      dsfabric::Fabric& fabric = here.self.fabric();
      Client& client = here.client;
      // Each get fetches, and keeps a copy.
      const Datum datum = here.shared("data", temporal(std::chrono::nanoseconds(0)), 0);
      member.memory.words[0]++;
      Words words;
      for (std::uint64_t value = 1; !fabric.failed({2}); ++value) {
        self.progress();
        if (member.rank == 0) require_done(client.put(datum, Words::of(value).bytes()), "put");
        require_done(client.get(datum, words.bytes()), "get");
        require(words.whole(), "whole");
      }
      for (std::uint64_t value = 1'000'000'000; value < 1'000'000'010; ++value) {
        if (member.rank == 0) require_done(client.put(datum, Words::of(value).bytes()), "put");
        member.memory.words[1]++;
        here.await(1, 2 * (value - 999'999'999), "both know");
        require_done(client.get(datum, words.bytes()), "get");
        require(words.whole() && words.word[0] == value, "the newest");
        member.memory.words[2]++;
        here.await(2, 2 * (value - 999'999'999), "both have got it");
      }
    });
  });
  CHECK(eventually([&] { return job.memory().words[0] == 3; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  job.kill(2);
  CHECK(job.wait() == "2: signal 9\n");
}
