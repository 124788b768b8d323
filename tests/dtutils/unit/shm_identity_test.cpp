// SPDX-License-Identifier: MIT
// Who may act on a queue pair of the shm device: the one that it is connected to, nobody else. And
// numbers of processes and descriptors are not believed, since they come to mean something else.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include "dtutils/error.hpp"
#include "shm/peer.hpp"
#include "shm/queue_pair.hpp"
#include "shm/segment.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

/// Descriptors of this process through which one can write into a pipe.
std::set<int> writable_pipes() {
  std::set<int> pipes;
  DIR* folder = ::opendir("/proc/self/fd");
  require(folder != nullptr, "there is no /proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    char target[64] = {};
    if (::readlinkat(::dirfd(folder), entry->d_name, target, sizeof target - 1) < 0) continue;
    const int fd = std::atoi(entry->d_name);
    const bool writable = (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
    if (writable && std::string(target).starts_with("pipe:")) pipes.insert(fd);
  }
  ::closedir(folder);
  return pipes;
}

/// While it lives, the number `fd` means what `other` means.
class Replaced {
 public:
  Replaced(int fd, int other) : fd_(fd), before_(::dup(fd)) {
    require(before_ >= 0 && ::dup2(other, fd) == fd, "a descriptor cannot be replaced");
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;
  ~Replaced() {
    ::dup2(before_, fd_);
    ::close(before_);
  }

 private:
  int fd_;
  int before_;
};

}  // namespace

TEST_CASE("shm_queue_pair_of_another_device_with_the_same_number_cannot_act") {
  const auto device_a = open_shm_device({});
  const auto device_b = open_shm_device({});
  const auto device_c = open_shm_device({});
  Side a(*device_a);
  Side b(*device_b);
  Side intruder(*device_c);
  REQUIRE(a.qp.raw()->qp_num == intruder.qp.raw()->qp_num);
  connect(a.qp, b.qp);
  intruder.qp.connect(b.qp.endpoint());

  fill(intruder.bytes(), 1);
  must(intruder.qp.post_write(intruder.local(0, 64), b.remote(0, 64), 1, kSignaled));
  const ibv_wc refused = failure(intruder.sends, 1);
  CHECK(refused.status == IBV_WC_RETRY_EXC_ERR);
  CHECK(refused.vendor_err == shm::kPeerClosed);
  CHECK(all_bytes(b.bytes(), 0));

  CHECK(b.qp.state() == IBV_QPS_RTS);
  fill(a.bytes().first(64), 2);
  must(a.qp.post_write(a.local(0, 64), b.remote(0, 64), 2, kSignaled));
  success(a.sends, 2);
  CHECK(holds(b.bytes().first(64), 2));
}

TEST_CASE("shm_gates_differ_by_device_sender_and_receiver") {
  const std::uint64_t gate = shm::gate_value(0, 1, 2, 7);
  CHECK(gate != 0);
  CHECK(gate != shm::gate_value(1, 1, 2, 7));
  CHECK(gate != shm::gate_value(0, 2, 2, 7));
  CHECK(gate != shm::gate_value(0, 1, 3, 7));
  CHECK(gate != shm::gate_value(0, 2, 1, 7));
}

TEST_CASE("shm_address_of_another_device_at_the_same_place_is_refused") {
  const auto device_a = open_shm_device({});
  const auto device_b = open_shm_device({});
  Side a(*device_a);
  Side b(*device_b);
  // As if process and door had these numbers again, after a restart; or whoever guesses the key.
  Endpoint stale = b.qp.endpoint();
  stale.gid[15] ^= 1;
  CHECK_THAT(error_text([&] { a.qp.connect(stale); }), contains("does not name a live shm device"));
  dtutils::QueuePair(a.pd, a.sends, a.receives).connect(b.qp.endpoint());
}

TEST_CASE("shm_pipe_whose_descriptor_means_another_pipe_by_now_is_not_used") {
  const std::set<int> others = writable_pipes();
  const auto device_b = open_shm_device({});
  std::set<int> pipes_of_b = writable_pipes();
  std::erase_if(pipes_of_b, [&](int fd) { return others.count(fd) != 0; });
  // The doorbell and the sign of life.
  REQUIRE(pipes_of_b.size() == 2);
  Side b(*device_b);
  int users_own[2];
  REQUIRE(::pipe2(users_own, O_CLOEXEC | O_NONBLOCK) == 0);
  for (const int fd : pipes_of_b) {
    const auto device_a = open_shm_device({});
    Side a(*device_a);
    const Replaced now(fd, users_own[1]);
    CHECK(error_text([&] { a.qp.connect(b.qp.endpoint()); }) != "(no error)");
  }
  ::close(users_own[0]);
  ::close(users_own[1]);
}

TEST_CASE("shm_memory_whose_descriptor_means_another_file_by_now_is_not_written") {
  const auto device_a = open_shm_device({});
  const auto device_b = open_shm_device({});
  Side a(*device_a);
  Side b(*device_b);
  connect(a.qp, b.qp);
  const auto location = SharedSegment::find(b.segment.data(), b.segment.size());
  REQUIRE(location);
  // As large, and sealed like it: they differ by nothing but their identity.
  const int users_own = ::memfd_create("users-own", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(users_own >= 0);
  REQUIRE(::ftruncate(users_own, static_cast<off_t>(location->segment_size)) == 0);
  REQUIRE(::fcntl(users_own, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
  fill(a.bytes().first(8), 1);
  {
    const Replaced now(location->fd, users_own);
    must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 1, kSignaled));
    const ibv_wc refused = failure(a.sends, 1);
    CHECK(refused.status == IBV_WC_GENERAL_ERR);
    CHECK(refused.vendor_err == shm::kCannotMap);
  }
  std::uint64_t there = 1;
  REQUIRE(::pread(users_own, &there, sizeof there, 0) == sizeof there);
  CHECK(there == 0);
  ::close(users_own);
}

TEST_CASE("shm_process_is_not_reached_by_its_number_once_its_device_is_gone") {
  shm::OwnSegment own;
  auto others = std::make_unique<shm::OwnSegment>();
  // A thread that lives on, in place of one of a later process that got the same number.
  others->shared().header.thread = static_cast<std::uint32_t>(::gettid());
  shm::Peer peer(others->address(), own);
  std::uint64_t there = 1;
  const auto address = reinterpret_cast<std::uint64_t>(&there);
  std::uint64_t here = 2;
  REQUIRE(peer.write_remote(address, &here, sizeof here) == 0);
  REQUIRE(there == 2);
  others.reset();
  here = 3;
  CHECK(peer.write_remote(address, &here, sizeof here) == ESRCH);
  CHECK(there == 2);
  CHECK(peer.read_remote(&here, address, sizeof here) == ESRCH);
  CHECK(here == 3);
}
