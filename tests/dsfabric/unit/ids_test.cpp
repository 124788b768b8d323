// SPDX-License-Identifier: MIT
// Names of machines, processes and threads: order, hash, text.
#include "dsfabric/ids.hpp"

#include <fmt/format.h>

#include <unordered_set>

#include "support/catch.hpp"

using dsfabric::MachineId;
using dsfabric::ProcessId;
using dsfabric::ThreadId;

TEST_CASE("threads_are_ordered_by_process_then_index") {
  CHECK(ThreadId{{0}, 5} < ThreadId{{1}, 0});
  CHECK(ThreadId{{1}, 0} < ThreadId{{1}, 1});
  CHECK(ThreadId{{1}, 1} == ThreadId{{1}, 1});
}

TEST_CASE("different_threads_have_different_hashes") {
  std::unordered_set<std::size_t> hashes;
  for (std::uint16_t process = 0; process < 40; ++process) {
    for (std::uint16_t index = 0; index < 40; ++index) {
      hashes.insert(std::hash<ThreadId>{}({{process}, index}));
    }
  }
  CHECK(hashes.size() == 1600);
}

TEST_CASE("ids_print_what_they_name") {
  CHECK(fmt::format("{} {} {}", MachineId{2}, ProcessId{3}, ThreadId{{3}, 1}) == "m2 p3 3.1");
  CHECK(fmt::format("{}", ThreadId::service_of({4})) == "4.service");
}

TEST_CASE("only_the_service_name_is_a_service") {
  CHECK(ThreadId::service_of({1}).is_service());
  CHECK_FALSE(ThreadId{{1}, 0}.is_service());
}
