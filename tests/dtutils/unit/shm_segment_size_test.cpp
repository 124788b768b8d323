// SPDX-License-Identifier: MIT
// What a control segment costs: memory for what is used, also when all memory is locked or dumped.
#include <sys/mman.h>
#include <sys/resource.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

using namespace dtutils;
using namespace support;

namespace {

struct Mapped {
  std::size_t resident_kb = 0;
  std::size_t count = 0;
  std::size_t dumped = 0;
};

/// The mappings of memory files of this name in this process, see proc(5), smaps.
Mapped mapped_files(const std::string& name) {
  std::ifstream maps("/proc/self/smaps");
  Mapped sum;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first.back() != ':') {
      inside = line.find("/memfd:" + name + " (deleted)") != std::string::npos;
      sum.count += inside;
    } else if (inside && first == "Rss:") {
      std::size_t kilobytes = 0;
      words >> kilobytes;
      sum.resident_kb += kilobytes;
    } else if (inside && first == "VmFlags:") {
      sum.dumped += line.find(" dd") == std::string::npos;
    }
  }
  return sum;
}

constexpr const char* kControl = "cariama-control";

}  // namespace

TEST_CASE("shm_control_segments_and_memory_of_peers_stay_out_of_core_dumps") {
  const auto device = open_shm_device({});
  const auto other_device = open_shm_device({});
  Side a(*device);
  Side b(*other_device);
  const std::size_t own_memory = mapped_files("cariama").dumped;
  CHECK(own_memory == 2);
  connect(a.qp, b.qp);
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
  success(a.sends, 1);
  CHECK(mapped_files(kControl).count >= 4);
  CHECK(mapped_files(kControl).dumped == 0);
  CHECK(mapped_files("cariama").count == 3);
  CHECK(mapped_files("cariama").dumped == own_memory);
}

TEST_CASE("shm_locking_all_memory_fills_no_more_of_the_segments_than_is_used") {
  RemotePeer peer([](Wire& wire) {
    const bool before = wire.hear<bool>();
    const auto lock = [] { return ::mlockall(MCL_CURRENT | MCL_FUTURE) == 0; };
    bool locked = !before || lock();
    const auto device = open_shm_device({});
    const auto other_device = open_shm_device({});
    Side a(*device);
    Side b(*other_device);
    connect(a.qp, b.qp);
    locked = locked && (before || lock());
    wire.tell(locked ? mapped_files(kControl).resident_kb : 0);
    wire.meet();
  });
  peer.wire().tell(GENERATE(false, true));
  const std::size_t resident_kb = peer.wire().hear<std::size_t>();
  peer.wire().meet();
  if (resident_kb == 0) {
    std::cout << "SKIPPED: this user may not lock all memory\n";
    return;
  }
  // Two segments, each mapped by both devices.
  CHECK(resident_kb < 4 * 20 << 10);
}
