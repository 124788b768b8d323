// SPDX-License-Identifier: MIT
// What the processes of a rendezvous give each other.
#include <fmt/format.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "dsfabric/support/rendezvous.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace dsfabric;
using namespace dsfabric::rendezvous;
using namespace std::chrono_literals;
using namespace support;

TEST_CASE("all_gather_gives_everybody_everything_by_rank") {
  Rendezvous rendezvous(3);
  std::vector<std::unique_ptr<Bootstrap>> clients;
  for (std::uint32_t rank = 0; rank < 3; ++rank) clients.push_back(rendezvous.join(rank));
  for (int round = 0; round < 3; ++round) {
    std::vector<std::future<std::vector<Bytes>>> all;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      all.push_back(std::async(std::launch::async, [&, rank] {
        return clients[rank]->all_gather(bytes_of(fmt::format("{}.{}", round, rank)), 5s);
      }));
    }
    for (auto& each : all) {
      const auto gathered = each.get();
      REQUIRE(gathered.size() == 3);
      for (int rank = 0; rank < 3; ++rank) {
        CHECK(gathered[static_cast<std::size_t>(rank)] ==
              bytes_of(fmt::format("{}.{}", round, rank)));
      }
    }
  }
}

TEST_CASE("all_gather_carries_megabytes") {
  Rendezvous rendezvous(2);
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  const Bytes large(std::size_t{3} << 20, std::byte{7});
  auto other = std::async(std::launch::async, [&] { return b->all_gather(large, 10s); });
  const auto all = a->all_gather(large, 10s);
  CHECK(all[0] == large);
  CHECK(all[1] == large);
  CHECK(other.get() == all);
}

TEST_CASE("all_gather_carries_more_than_one_frame_may_hold") {
  Rendezvous rendezvous(2);
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  const Bytes large((kMaxFrame / 2) + 1000, std::byte{7});
  auto other = std::async(std::launch::async, [&] { return b->all_gather(large, 60s); });
  const auto all = a->all_gather(large, 60s);
  CHECK((all[0] == large && all[1] == large));
  CHECK(other.get() == all);
  CHECK_THAT(error_text([&] { a->all_gather(Bytes(kMaxFrame), 1s); }), contains("are more than"));
}

TEST_CASE("all_to_all_gives_each_what_the_others_have_for_it") {
  Rendezvous rendezvous(3);
  std::vector<std::unique_ptr<Bootstrap>> clients;
  for (std::uint32_t rank = 0; rank < 3; ++rank) clients.push_back(rendezvous.join(rank));
  for (int round = 0; round < 2; ++round) {
    std::vector<std::future<std::vector<Bytes>>> all;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      all.push_back(std::async(std::launch::async, [&, rank] {
        std::vector<Bytes> mine;
        for (int to = 0; to < 3; ++to) mine.push_back(bytes_of(fmt::format("{}>{}", rank, to)));
        return clients[rank]->all_to_all(mine, 5s);
      }));
    }
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const auto got = all[rank].get();
      REQUIRE(got.size() == 3);
      for (std::size_t from = 0; from < 3; ++from) {
        CHECK(got[from] == bytes_of(fmt::format("{}>{}", from, rank)));
      }
    }
  }
}

TEST_CASE("all_to_all_of_a_bootstrap_without_its_own_is_one_gather") {
  const auto alone = make_alone();
  const std::vector<Bytes> mine{bytes_of("me")};
  CHECK(alone->all_to_all(mine, 1s) == mine);
}

TEST_CASE("missing_rank_is_named") {
  Rendezvous rendezvous(4);
  const auto a = rendezvous.join(0);
  const auto c = rendezvous.join(2);
  std::atomic<bool> begun{false};
  auto other = std::async(std::launch::async, [&] {
    begun = true;
    return error_text([&] { c->all_gather({}, 2s); });
  });
  while (!begun) std::this_thread::yield();
  CHECK_THAT(error_text([&] { a->all_gather({}, 1s); }), contains("did not come in time: 1, 3"));
  CHECK_THAT(other.get(), contains("1, 3"));
}
