// SPDX-License-Identifier: MIT
// One puts and all get, at the same time: each value is whole, and as new as its model promises.
#include <algorithm>
#include <chrono>
#include <vector>

#include "sharing/support/sharing_job.hpp"
#include "support/random.hpp"

using namespace sharing;
using namespace support;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kAge{2};

std::uint64_t time_now() {
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
}

/// How many puts that had returned a get may leave out; for kTemporal all that are young enough.
std::uint64_t least_of(const Model& model, std::uint64_t returned) {
  const std::uint64_t behind = model.coherence == Coherence::kDelta ? model.versions : 0;
  return returned < behind ? 0 : returned - behind;
}

}  // namespace

TEST_CASE("gets_while_others_put_are_whole_and_as_new_as_promised") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  for (const Model& model : {delta(0), delta(3), read(), write(), strict()}) {
    CAPTURE(static_cast<int>(model.coherence), model.versions);
    CHECK(share(3, [&](Sharer& here) {
            const Datum data[] = {here.shared("a", model, 0), here.shared("b", model, 2)};
            Reader readers[] = {{here.client, data[0]}, {here.client, data[1]}};
            Random random(seed + here.member.rank);
            std::uint64_t seen[2] = {0, 0};
            for (int i = rounds(600); i > 0; --i) {
              const std::size_t which = random.below(2);
              // Process 0 puts into the first, and process 1 into the second.
              std::atomic<std::uint64_t>& returned = here.word(which);
              if (here.member.rank == which && random.one_in(2)) {
                const std::uint64_t next = returned + 1;
                require_done(here.client.put(data[which], Words::of(next).bytes()), "put");
                returned = next;
                continue;
              }
              const std::uint64_t least = least_of(model, returned);
              Words words;
              std::uint64_t version = 0;
              const Status status = random.one_in(2)
                                        ? readers[which].get(words, &version)
                                        : here.client.get(data[which], words.bytes(), &version);
              require_done(status, "get");
              require(words.whole(), "whole");
              require_equal(words.word[0], version, "the value of that version");
              require(version >= least, "as new as promised");
              // What excludes others never goes back.
              if (model.coherence >= Coherence::kRead) {
                require(version >= seen[which], "not older than before");
              }
              seen[which] = version;
              here.self.progress();
            }
            member_done(here);
          }) == "");
  }
}

TEST_CASE("temporal_gets_are_at_most_so_old_by_the_clock_of_the_machine") {
  CHECK(share(2, [](Sharer& here) {
          const Datum datum = here.shared("data", temporal(kAge), 1);
          Reader reader(here.client, datum);
          // words[1 + value % 8]: when the put of that value had returned.
          for (int i = rounds(300); i > 0; --i) {
            if (here.member.rank == 1) {
              const std::uint64_t next = here.word(0) + 1;
              require_done(here.client.put(datum, Words::of(next).bytes()), "put");
              here.word(1 + next % 8) = time_now();
              here.word(0) = next;
              here.self.progress();
              continue;
            }
            const std::uint64_t newest = here.word(0);
            const std::uint64_t began = time_now();
            Words words;
            const Status status =
                i % 3 == 0 ? here.client.get(datum, words.bytes()) : reader.get(words);
            require_done(status, "get");
            require(words.whole(), "whole");
            // Of a value that is still remembered: the next one was not there kAge before.
            const std::uint64_t next = words.word[0] + 1;
            const std::uint64_t replaced = here.word(1 + next % 8);
            if (next <= newest && here.word(0) < next + 7) {
              require(
                  replaced + static_cast<std::uint64_t>(std::chrono::nanoseconds(kAge).count()) >=
                      began,
                  "not too old");
            }
            here.self.progress();
          }
          member_done(here);
        }) == "");
}
