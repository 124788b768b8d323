// SPDX-License-Identifier: MIT
// Who comes to a control segment: those who know its key. Nobody finds it, and no thread is needed
// of the process beside those of the device.
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "dtutils/error.hpp"
#include "shm/segment.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

using namespace dtutils;
using namespace support;

namespace {

/// True when a descriptor of this process leads to a control segment, as it would lead everybody
/// else of this user there.
bool control_segment_is_in_proc() {
  bool found = false;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    char target[256];
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    found |= length > 0 &&
             std::string(target, static_cast<std::size_t>(length)).find("cariama-control") !=
                 std::string::npos;
  }
  ::closedir(folder);
  return found;
}

}  // namespace

TEST_CASE("shm_control_segment_is_found_in_no_table_of_descriptors") {
  const auto device = open_shm_device({});
  const auto other_device = open_shm_device({});
  Side a(*device);
  Side b(*other_device);
  connect(a.qp, b.qp);
  // A device that has just handed its segment over closes its copy of the descriptor a moment
  // later.
  CHECK(eventually([] { return !control_segment_is_in_proc(); }));
}

TEST_CASE("shm_control_segment_is_given_to_who_knows_its_key_only") {
  const shm::OwnSegment own;
  CHECK(shm::knock(own.address()));
  shm::Address guess = own.address();
  guess.nonce += 1;
  CHECK_THAT(error_text([&] { shm::knock(guess); }), contains("does not name a live shm device"));
  guess = own.address();
  guess.door += 1;
  CHECK_THAT(error_text([&] { shm::knock(guess); }), contains("its device is closed"));
  CHECK(shm::knock(own.address()));
}

TEST_CASE("shm_peer_whose_first_thread_has_ended_is_reached") {
  RemotePeer peer([](Wire& wire) {
    std::thread([&wire] {
      const auto device = open_shm_device({});
      Side side(*device);
      connect(wire, side);
      wire.hear<char>();
    }).detach();
    // Ends this thread alone, and without the unwinding of pthread_exit(3).
    ::syscall(SYS_exit, 0);
  });
  const auto device = open_shm_device({});
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);
  must(side.qp.post_write(side.local(0, 8), memory.part(0, 8), 1, kSignaled));
  success(side.sends, 1);
  CHECK(side.qp.state() == IBV_QPS_RTS);
}
