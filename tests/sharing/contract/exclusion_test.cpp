// SPDX-License-Identifier: MIT
// Gets and puts themselves, without a Hold, exclude each other as the model says, and no others.
#include <chrono>
#include <vector>

#include "sharing/support/sharing_job.hpp"

using namespace sharing;
using namespace support;
using std::chrono::milliseconds;

namespace {

/// So large that an operation takes long enough for another one to come into it.
constexpr std::uint32_t kLarge = 128 << 10;
/// Of operations that meet at some time: they end with the first one that is refused.
constexpr milliseconds kUntilMet{20'000};
/// Of those that do not.
constexpr milliseconds kWhile{300};

enum class Operation : std::uint8_t { kGet, kPut };

/// Two processes do these again and again, at the same time; whether one was refused ever, because
/// the other was at work.
bool meet_each_other(const Model& model, Operation first, Operation second, milliseconds limit) {
  constexpr std::size_t kBusy = 2, kStarted = 3;
  ForkJob job(3, [&](Member& member) {
    SpaceOptions options = small_space();
    options.bytes = 4 << 20;
    const auto body = [&](Sharer& here) {
      if (member.rank == 0) {
        (void)here.client.allocate("large", kLarge, model, memory::there({2}));
      }
      here.self.barrier();
      if (member.rank < 2) {
        const Datum datum = here.client.find("large").value();
        std::vector<std::byte> bytes(kLarge);
        here.word(kStarted)++;
        here.await(kStarted, 2, "both begin");
        const auto end = std::chrono::steady_clock::now() + limit;
        while (here.word(kBusy) == 0 && std::chrono::steady_clock::now() < end) {
          const Status status = (member.rank == 0 ? first : second) == Operation::kGet
                                    ? here.client.get(datum, bytes, nullptr, Wait::kTry)
                                    : here.client.put(datum, bytes, Wait::kTry);
          if (status == Status::kBusy) {
            here.word(kBusy) = 1;
          } else {
            require_done(status, "an operation");
          }
        }
      }
      here.self.barrier();
    };
    as_sharer(member, body, options);
  });
  REQUIRE(job.wait() == "");
  return job.memory().words[kBusy] != 0;
}

}  // namespace

TEST_CASE("gets_exclude_each_other_with_read_and_strict_data_alone") {
  const auto meet = [](const Model& model, milliseconds limit) {
    return meet_each_other(model, Operation::kGet, Operation::kGet, limit);
  };
  CHECK(meet(read(), kUntilMet));
  CHECK(meet(strict(), kUntilMet));
  CHECK_FALSE(meet(write(), kWhile));
  CHECK_FALSE(meet(delta(0), kWhile));
}

TEST_CASE("gets_and_puts_exclude_each_other_with_write_and_strict_data_alone") {
  const auto meet = [](const Model& model, milliseconds limit) {
    return meet_each_other(model, Operation::kGet, Operation::kPut, limit);
  };
  CHECK(meet(write(), kUntilMet));
  CHECK(meet(strict(), kUntilMet));
  CHECK_FALSE(meet(read(), kWhile));
  CHECK_FALSE(meet(delta(0), kWhile));
}
