// SPDX-License-Identifier: MIT
// Zones, cores and pages are found, also where the NUMA system calls are refused.
#include "dtutils/numa.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <thread>

#include "dtutils/limits.hpp"
#include "dtutils/rdma_allocator.hpp"
#include "dtutils/shared_segment.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/fake_device.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/threads.hpp"
#include "support/two_processes.hpp"

namespace {

using dtutils::NumaZone;
using support::contains;
using support::error_text;
using support::require;

/// Refuses the NUMA system calls from here on, as Docker's default profile does.
void refuse_numa_calls() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_get_mempolicy, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mbind, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_move_pages, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  sock_fprog program{std::size(filter), filter};
  require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
          "a system call filter can be set");
}

}  // namespace

TEST_CASE("zones_are_ascending_and_hold_the_current_one") {
  const std::vector<NumaZone> zones = dtutils::numa_zones();
  REQUIRE(!zones.empty());
  CHECK(std::is_sorted(zones.begin(), zones.end()));
  CHECK(std::find(zones.begin(), zones.end(), dtutils::current_zone()) != zones.end());
}

TEST_CASE("pinned_thread_runs_on_its_core_and_in_its_zone") {
  std::size_t pinned = 0;
  for (const NumaZone zone : dtutils::numa_zones()) {
    for (const int core : dtutils::cores_of(zone)) {
      support::Threads threads;
      threads.start([&] {
        dtutils::pin_thread(core);
        require(::sched_getcpu() == core, "the thread runs on its core");
        require(dtutils::current_zone() == zone, "the core belongs to its zone");
        dtutils::pin_thread(zone);
        cpu_set_t set;
        require(::sched_getaffinity(0, sizeof set, &set) == 0, "affinity");
        require(CPU_COUNT(&set) == static_cast<int>(dtutils::cores_of(zone).size()),
                "a pinned thread still knows all cores of its zone");
      });
      threads.join();
      ++pinned;
    }
  }
  CHECK(pinned > 0);
}

TEST_CASE("core_that_does_not_exist_is_an_error_that_lists_those_that_do") {
  for (const int core : {-1, CPU_SETSIZE - 1, CPU_SETSIZE + 1}) {
    CHECK_THAT(error_text([&] { dtutils::pin_thread(core); }),
               contains("core " + std::to_string(core)) && contains("may use the cores"));
  }
}

TEST_CASE("zone_that_does_not_exist_is_an_error_that_lists_those_that_do") {
  CHECK_THAT(error_text([] { dtutils::pin_thread(NumaZone{4000}); }),
             contains("NUMA zone 4000") && contains("use one of: 0"));
}

TEST_CASE("zone_of_an_address_is_known_once_its_page_was_touched") {
  if (!dtutils::has_numa()) {
    WARN("SKIPPED: this machine refuses the NUMA system calls");
    return;
  }
  for (const NumaZone zone : dtutils::numa_zones()) {
    const dtutils::SharedSegment segment(4 * dtutils::kPage, dtutils::PageKind::kSmall, zone.node);
    CHECK_FALSE(dtutils::zone_of(segment.data() + 5000).has_value());
    segment.data()[5000] = std::byte{1};
    CHECK(dtutils::zone_of(segment.data() + 5001) == zone);
    CHECK_FALSE(dtutils::zone_of(segment.data()).has_value());
  }
  CHECK_FALSE(dtutils::zone_of(nullptr).has_value());
}

TEST_CASE("one_zone_holds_everything_where_numa_calls_are_refused") {
  support::RemotePeer container([](support::Wire& wire) {
    refuse_numa_calls();
    require(!dtutils::has_numa(), "NUMA is refused");
    require(dtutils::numa_zones() == std::vector<NumaZone>{{0}}, "there is one zone");
    require(dtutils::current_zone() == NumaZone{0}, "and this is it");
    require(!dtutils::cores_of(NumaZone{0}).empty(), "it has cores");
    dtutils::pin_thread(NumaZone{0});
    require(error_text([] { dtutils::cores_of(NumaZone{1}); }) != "(no error)", "no other zone");

    support::FakeDevice device;
    dtutils::ProtectionDomain pd(device);
    dtutils::RDMAAllocator allocator(
        pd, dtutils::current_zone(),
        {.superpage = dtutils::kChunk, .page_kinds = {dtutils::PageKind::kSmall}});
    const dtutils::RDMAMemory memory = allocator.allocate();
    memory.data()[0] = std::byte{1};
    require(dtutils::zone_of(memory.data()) == NumaZone{0}, "memory is in it");
    wire.meet();
  });
  container.wire().meet();
  container.join();
}
