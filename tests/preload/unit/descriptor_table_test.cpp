// SPDX-License-Identifier: MIT
// Descriptors come and go while other threads look them up.
#include "descriptor_table.hpp"

#include "connection.hpp"
#include "descriptors.hpp"
#include "epoll_set.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/threads.hpp"

using namespace preload;

namespace {
/// Numbers that no open descriptor of the test has.
constexpr int kFree = 100'000;
}  // namespace

TEST_CASE("descriptors_outside_of_the_table_have_no_entries") {
  CHECK(table().find(-1) == nullptr);
  CHECK(table().find(INT32_MAX) == nullptr);
  CHECK(table().find(static_cast<int>(DescriptorTable::kLimit)) == nullptr);
  enter_connection(static_cast<int>(DescriptorTable::kLimit), true);
  CHECK(table().find(static_cast<int>(DescriptorTable::kLimit)) == nullptr);
}

TEST_CASE("a_copy_keeps_the_connection_until_it_is_closed_too") {
  enter_connection(kFree, true);
  const Entry* const entry = table().find(kFree);
  REQUIRE(entry != nullptr);
  enter_copy(kFree, kFree + 1);
  CHECK(table().find(kFree + 1) == entry);
  leave(kFree);
  CHECK(table().find(kFree) == nullptr);
  CHECK(table().lock<Connection>(kFree + 1)->descriptors == 1);
  CHECK_FALSE(table().lock<EpollSet>(kFree + 1));
  leave(kFree + 1);
  CHECK(table().find(kFree + 1) == nullptr);
}

TEST_CASE("an_entry_is_used_again_as_another_one") {
  enter_connection(kFree, true);
  const std::uint64_t generation = table().lock<Connection>(kFree)->generation();
  const Entry* const entry = table().find(kFree);
  leave(kFree);
  enter_connection(kFree, false);
  REQUIRE(table().find(kFree) == entry);
  CHECK(table().lock<Connection>(kFree)->generation() == generation + 1);
  CHECK_FALSE(table().lock<Connection>(kFree)->connected_here());
  leave(kFree);
}

TEST_CASE("a_locked_entry_stands_where_it_was_found") {
  constexpr int kRounds = 20'000;
  support::Threads threads;
  std::atomic<bool> stop{false};
  threads.start([&] {
    while (!stop.load()) {
      for (int fd = kFree; fd < kFree + 4; ++fd) {
        const auto connection = table().lock<Connection>(fd);
        if (!connection) continue;
        support::require(connection->descriptors > 0, "an entry without descriptors was found");
        support::require(connection->connected_here() == (fd % 2 == 0), "another entry was found");
      }
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    const int fd = kFree + round % 4;
    enter_connection(fd, fd % 2 == 0);
    leave(fd);
  }
  stop = true;
  threads.join();
}
