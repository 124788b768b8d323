// SPDX-License-Identifier: MIT
// The shm device's free space and indices: nothing twice, neighbours joined, late reuse.
#include <algorithm>
#include <set>
#include <vector>

#include "dtutils/error.hpp"
#include "shm/arena.hpp"
#include "shm/index_pool.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"

using namespace dtutils::shm;

namespace {

struct Taken {
  std::uint64_t offset;
  std::uint64_t size;
};

bool overlap(const Taken& a, const Taken& b) {
  return a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

}  // namespace

TEST_CASE("shm_arena_hands_no_byte_out_twice_and_is_whole_again_at_the_end") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  constexpr std::uint64_t kSize = 1 << 14;
  Arena arena(kSize);
  std::vector<Taken> taken;
  int refused = 0;
  std::uint64_t end = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (!taken.empty() && random.one_in(2)) {
      std::swap(taken[random.below(taken.size())], taken.back());
      arena.give(taken.back().offset, taken.back().size);
      taken.pop_back();
      continue;
    }
    const std::uint64_t size = random.size_up_to(kSize / 4);
    const auto offset = arena.take(size);
    if (!offset) {
      ++refused;
      continue;
    }
    const Taken made{*offset, size};
    REQUIRE(made.offset + made.size <= kSize);
    end = std::max(end, made.offset + made.size);
    REQUIRE(arena.fresh_from() == end);
    REQUIRE(std::ranges::none_of(taken, [&](const Taken& each) { return overlap(each, made); }));
    taken.push_back(made);
  }
  CHECK(refused > 0);
  for (const Taken& each : taken) arena.give(each.offset, each.size);
  CHECK(arena.take(kSize) == 0);
  CHECK_FALSE(arena.take(1));
}

TEST_CASE("shm_index_pool_gives_back_the_longest_unused_index_first") {
  IndexPool pool(4, "things");
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 2; ++i) taken.insert(pool.take());
  pool.give(0);
  pool.give(1);
  for (int i = 0; i < 2; ++i) taken.insert(pool.take());
  CHECK(taken == std::set<std::uint32_t>{0, 1, 2, 3});
  CHECK(pool.take() == 0);
  CHECK(pool.take() == 1);
}

TEST_CASE("shm_index_pool_names_what_it_has_no_more_of") {
  IndexPool pool(2, "things");
  pool.take();
  pool.take();
  const std::string text = support::error_text([&] { pool.take(); });
  CHECK_THAT(text, support::contains("all 2 things are in use"));
  pool.give(1);
  CHECK(pool.take() == 1);
}
