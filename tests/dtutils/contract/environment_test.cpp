// SPDX-License-Identifier: MIT
// Users' surroundings: limits, permissions, working directories, fork, other jobs, sudden death.
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"
#include "support/two_processes.hpp"
#include "support/visible_threads.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr unsigned kNobody = 65534;

/// Gives up all privileges for good; false when this process may not.
bool become_nobody() {
  if (::geteuid() != 0) return true;
  const bool done =
      ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
  // Changing identity makes a process opaque to others of its user; a login would not.
  ::prctl(PR_SET_DUMPABLE, 1);
  return done;
}

void exchange(Side& from, Side& to) {
  from.at<std::uint64_t>(0) += 7;
  must(from.qp.post_write(from.local(0, 8), to.remote(64, 8), 1, kSignaled));
  success(from.sends, 1);
  require_equal(to.at<std::uint64_t>(64), from.at<std::uint64_t>(0), "the written word");
}

/// A job of two processes that exchange numbers which only this job uses.
void run_job(std::uint64_t first) {
  constexpr std::uint64_t kCount = 100;
  RemotePeer peer([first](Wire& wire) {
    const auto device = open_device_under_test();
    Side side(*device);
    const RemoteMemoryLocator memory = connect(wire, side);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      side.at<std::uint64_t>(0) = first + i;
      must(side.qp.post_write(side.local(0, 8), memory.part(8 * (i + 1), 8), i, kSignaled));
      success(side.sends, i);
    }
    wire.meet();
  });
  const auto device = open_device_under_test();
  Side side(*device);
  connect(peer.wire(), side);
  peer.wire().meet();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    require_equal(side.at<std::uint64_t>(8 * (i + 1)), first + i, "a number of this job");
  }
  peer.join();
}

/// Files with a name that a process maps shared and writable, or holds open for writing.
std::set<std::string> named_files_of(pid_t pid) {
  std::set<std::string> files;
  const std::string proc = "/proc/" + std::to_string(pid);
  std::ifstream maps(proc + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const bool shared_writable = line.find(" rw-s ") != std::string::npos;
    if (shared_writable && line.find('/') != std::string::npos) {
      files.insert(line.substr(line.find('/')));
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    const bool kernels = target.starts_with("/dev/") || target.starts_with("/proc/");
    if (target.starts_with("/dev/shm") || (target.starts_with("/") && !kernels)) {
      files.insert(target);
    }
  }
  std::erase_if(files, [](const std::string& file) {
    return file.starts_with("/memfd:") || file.starts_with("/dev/zero") ||
           file.starts_with("/dev/infiniband/") || file.find(" (deleted)") != std::string::npos;
  });
  return files;
}

/// False, and a skip: the simulation of an earlier test runs all threads in one of the system.
bool nobody_can_be_become() {
  const bool can = show_simulated_threads();
  if (!can) WARN("SKIPPED: setuid(2) needs a simulation with visible threads; run it alone");
  return can;
}

}  // namespace

TEST_CASE("small_memlock_works_or_is_explained_with_the_command") {
  if (!nobody_can_be_become()) return;
  RemotePeer peer([](Wire&) {
    const rlimit limit{64 << 10, 64 << 10};
    require(::setrlimit(RLIMIT_MEMLOCK, &limit) == 0, "cannot lower the limit on locked memory");
    require(become_nobody(), "cannot give up privileges");
    try {
      const auto device = open_device_under_test();
      SideOptions options;
      options.memory = 4 << 20;
      Side a(*device, options);
      Side b(*device, options);
      connect(a.qp, b.qp);
      exchange(a, b);
    } catch (const Error& error) {
      const std::string text = error.what();
      const bool explained = text.find("ulimit -l") != std::string::npos ||
                             text.find("may not open") != std::string::npos;
      require(explained, text);
    }
  });
  peer.join();
}

TEST_CASE("user_without_privileges_can_work_or_is_told_what_is_missing") {
  if (!nobody_can_be_become()) return;
  RemotePeer peer([](Wire&) {
    require(become_nobody(), "cannot give up privileges");
    try {
      const auto device = open_device_under_test();
      Side a(*device);
      Side b(*device);
      connect(a.qp, b.qp);
      exchange(a, b);
    } catch (const Error& error) {
      const std::string text = error.what();
      const bool explained = text.find("may not open") != std::string::npos ||
                             text.find("ulimit -l") != std::string::npos;
      require(explained && error.code() != 0, text);
    }
  });
  peer.join();
}

TEST_CASE("few_file_descriptors_are_explained") {
#if defined(__SANITIZE_ADDRESS__)
  WARN("SKIPPED: the sanitizer needs a descriptor of its own to look at memory");
  return;
#endif
  if (skipped_on_sim("the simulated device opens no descriptors")) return;
  RemotePeer peer([](Wire&) {
    const rlimit limit{12, 12};
    require(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "cannot lower the limit on open files");
    std::vector<std::unique_ptr<Device>> devices;
    const std::string text = error_text([&] {
      for (int i = 0; i < 20; ++i) devices.push_back(open_device_under_test());
    });
    require(text.find("ulimit -n") != std::string::npos, text);
  });
  peer.join();
}

TEST_CASE("processes_in_different_working_directories_reach_each_other") {
  RemotePeer peer([](Wire& wire) {
    require(::chdir("/") == 0, "cannot change the working directory");
    const auto device = open_device_under_test();
    Side side(*device);
    connect(wire, side);
    wire.meet();
    require_equal(side.at<std::uint64_t>(0), 3u, "the written word");
  });
  const auto device = open_device_under_test();
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);
  side.at<std::uint64_t>(0) = 3;
  must(side.qp.post_write(side.local(0, 8), memory.part(0, 8), 1, kSignaled));
  success(side.sends, 1);
  peer.wire().meet();
  peer.join();
}

TEST_CASE("fork_without_exec_leaves_the_parent_at_work") {
  Pair pair;
  exchange(pair.a, pair.b);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(0);
    exchange(pair.a, pair.b);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    exchange(pair.b, pair.a);
  }
  MemoryRegion another(pair.a.pd, pair.a.segment.data(), 4096);
  must(pair.b.qp.post_read(pair.b.local(0, 8), another.remote().part(0, 8), 2, kSignaled));
  success(pair.b.sends, 2);
}

TEST_CASE("child_that_lives_on_disturbs_neither_traffic_nor_release") {
  auto pair = std::make_unique<Pair>();
  RemotePeer child([](Wire& wire) {
    wire.meet();
    wire.meet();
  });
  child.wire().meet();
  for (int i = 0; i < 20; ++i) exchange(pair->a, pair->b);
  pair.reset();
  Pair fresh;
  exchange(fresh.a, fresh.b);
  child.wire().meet();
  child.join();
}

TEST_CASE("child_of_fork_opens_a_device_of_its_own") {
  // The thread sanitizer allows it not at all; the address sanitizer's allocator may have been
  // locked by a thread that the child lacks (4 children in 300 hung in it).
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  WARN("SKIPPED: the sanitizer allows no threads in the child of a process with threads");
  return;
#endif
  Pair pair;
  RemotePeer child([](Wire& wire) {
    const auto device = open_device_under_test();
    Side side(*device);
    connect(wire, side);
    wire.meet();
    require_equal(side.at<std::uint64_t>(0), 11u, "the written word");
  });
  Side side(*pair.device);
  const RemoteMemoryLocator memory = connect(child.wire(), side);
  side.at<std::uint64_t>(0) = 11;
  must(side.qp.post_write(side.local(0, 8), memory.part(0, 8), 1, kSignaled));
  success(side.sends, 1);
  exchange(pair.a, pair.b);
  child.wire().meet();
  child.join();
}

TEST_CASE("two_jobs_on_one_host_do_not_meet") {
  RemotePeer one([](Wire&) { run_job(1'000'000); });
  RemotePeer other([](Wire&) { run_job(2'000'000); });
  one.join();
  other.join();
}

TEST_CASE("nothing_with_a_name_is_left_behind_by_a_killed_process") {
  const TemporaryFolder folder;
  RemotePeer peer([&](Wire& wire) {
    require(::chdir(folder.path().c_str()) == 0, "cannot change the working directory");
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    const std::set<std::string> before = named_files_of(::getpid());
    const auto device = open_device_under_test();
    Side side(*device);
    connect(wire, side);
    for (const std::string& file : named_files_of(::getpid())) {
      require(before.contains(file), "the device holds a file with a name: " + file);
    }
    wire.meet();
    wire.meet();
  });
  const auto device = open_device_under_test();
  Side side(*device);
  const RemoteMemoryLocator memory = connect(peer.wire(), side);
  peer.wire().meet();
  must(side.qp.post_write(side.local(0, 8), memory.part(0, 8), 1, kSignaled));
  success(side.sends, 1);
  const pid_t pid = peer.pid();
  peer.kill();
  CHECK(std::filesystem::is_empty(folder.path()));
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", missing)) {
    const std::string name = entry.path().filename();
    CHECK(name.find("cariama") == std::string::npos);
    CHECK(name.find(std::to_string(pid)) == std::string::npos);
  }
}
