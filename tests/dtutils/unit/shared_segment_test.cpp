// SPDX-License-Identifier: MIT
// Memory files: what they promise, and what they refuse with a sentence instead of a signal.
#include "dtutils/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "dtutils/limits.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/leftovers.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

namespace {

using dtutils::kChunk;
using dtutils::kPage;
using dtutils::PageKind;
using dtutils::SharedSegment;
using support::contains;
using support::error_text;
using support::RemotePeer;
using support::require;
using support::Wire;

constexpr std::size_t kTooMuch = std::size_t{1} << 50;

bool all_zero(const SharedSegment& segment) {
  return std::all_of(segment.data(), segment.data() + segment.size(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

struct Where {
  pid_t pid;
  int fd;
  unsigned long inode;
  std::size_t offset;
  std::size_t size;
};

int open_of(const Where& where) {
  const std::string path = "/proc/" + std::to_string(where.pid) + "/fd/" + std::to_string(where.fd);
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
}

}  // namespace

TEST_CASE("segment_is_zero_writable_and_rounded_up_to_pages") {
  const SharedSegment segment(kPage + 1, PageKind::kSmall, -1);
  CHECK(segment.size() == 2 * kPage);
  CHECK(segment.page_kind() == PageKind::kSmall);
  CHECK(all_zero(segment));
  std::fill_n(segment.data(), segment.size(), std::byte{0xa5});
  CHECK(segment.data()[segment.size() - 1] == std::byte{0xa5});
}

TEST_CASE("segment_of_a_chunk_or_more_starts_at_a_multiple_of_a_chunk") {
  for (const std::size_t size : {kChunk, kChunk + kPage, 5 * kChunk}) {
    const SharedSegment segment(size, PageKind::kSmall, 0);
    CHECK(reinterpret_cast<std::uintptr_t>(segment.data()) % kChunk == 0);
    segment.data()[0] = std::byte{1};
    segment.data()[segment.size() - 1] = std::byte{1};
  }
}

TEST_CASE("find_knows_every_range_inside_a_segment_and_none_that_leaves_it") {
  const SharedSegment segment(4 * kPage, PageKind::kSmall, -1);
  const SharedSegment other(4 * kPage, PageKind::kSmall, -1);
  const auto location = SharedSegment::find(segment.data() + 100, segment.size() - 100);
  REQUIRE(location.has_value());
  CHECK(location->offset == 100);
  CHECK(location->segment == segment.data());
  CHECK(location->segment_size == segment.size());
  struct stat status {};
  REQUIRE(::fstat(location->fd, &status) == 0);
  CHECK(location->inode == status.st_ino);
  CHECK(SharedSegment::find(other.data(), 1)->inode != location->inode);

  CHECK_FALSE(SharedSegment::find(segment.data() + 1, segment.size()).has_value());
  CHECK_FALSE(SharedSegment::find(segment.data() + segment.size(), 0).has_value());
  CHECK_FALSE(SharedSegment::find(segment.data() - 1, 2).has_value());
  CHECK_FALSE(SharedSegment::find(segment.data() + 1, SIZE_MAX).has_value());
  int on_the_stack = 0;
  CHECK_FALSE(SharedSegment::find(&on_the_stack, sizeof on_the_stack).has_value());
}

TEST_CASE("destroyed_segment_leaves_no_file_no_mapping_and_no_entry") {
  const std::size_t before = support::open_descriptors();
  const std::byte* data = nullptr;
  {
    const SharedSegment segment(kChunk, PageKind::kSmall, -1);
    data = segment.data();
    CHECK(support::open_descriptors() == before + 1);
  }
  CHECK(support::open_descriptors() == before);
  CHECK_FALSE(SharedSegment::find(data, 1).has_value());
  unsigned char resident = 0;
  CHECK(::mincore(const_cast<std::byte*>(data), kPage, &resident) == -1);
}

TEST_CASE("refused_segment_leaves_no_file_open") {
  const std::size_t before = support::open_descriptors();
  CHECK_THROWS_AS(SharedSegment(kPage, PageKind::kSmall, 4000), dtutils::Error);
  CHECK_THROWS_AS(SharedSegment(kTooMuch, PageKind::kSmall, -1), dtutils::Error);
  CHECK(support::open_descriptors() == before);
}

TEST_CASE("segment_above_the_memory_of_the_machine_is_an_error_that_names_it") {
  CHECK_THAT(error_text([] { SharedSegment(kTooMuch, PageKind::kSmall, -1); }),
             contains("memory segment of 1 PiB") && contains("this machine's"));
  CHECK_THROWS_AS(SharedSegment(SIZE_MAX, PageKind::kSmall, -1), dtutils::Error);
}

TEST_CASE("empty_segment_is_an_error") {
  CHECK_THAT(error_text([] { SharedSegment(0, PageKind::kSmall, -1); }),
             contains("memory segment of 0 bytes"));
}

TEST_CASE("unknown_node_is_an_error_that_names_it") {
  const std::string text = error_text([] { SharedSegment(kPage, PageKind::kSmall, 4000); });
  CHECK_THAT(text, contains("NUMA node 4000"));
}

TEST_CASE("peer_process_writes_into_a_segment_but_cannot_change_its_size") {
  RemotePeer peer([](Wire& wire) {
    const auto where = wire.hear<Where>();
    const int fd = open_of(where);
    require(fd >= 0, "the file of another process can be opened");
    struct stat status {};
    ::fstat(fd, &status);
    require(status.st_ino == where.inode, "it is the same file");
    require(::ftruncate(fd, 0) == -1, "shrinking is forbidden");
    require(::ftruncate(fd, 1 << 30) == -1, "growing is forbidden");
    void* mapped = ::mmap(nullptr, where.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(mapped != MAP_FAILED, "it can be mapped");
    static_cast<std::byte*>(mapped)[where.offset] = std::byte{42};
    wire.meet();
  });
  const SharedSegment segment(kChunk, PageKind::kSmall, -1);
  const auto location = SharedSegment::find(segment.data() + 12345, 1);
  REQUIRE(location.has_value());
  peer.wire().tell(
      Where{::getpid(), location->fd, location->inode, location->offset, location->segment_size});
  peer.wire().meet();
  CHECK(segment.data()[12345] == std::byte{42});
  peer.join();
}

TEST_CASE("forked_child_may_destroy_its_copy_without_harm_to_its_parent") {
  std::optional<SharedSegment> segment;
  segment.emplace(kChunk, PageKind::kSmall, -1);
  segment->data()[7] = std::byte{7};
  RemotePeer child([&](Wire& wire) {
    segment.reset();
    wire.meet();
  });
  child.wire().meet();
  child.join();
  CHECK(segment->data()[7] == std::byte{7});
  CHECK(SharedSegment::find(segment->data(), kChunk).has_value());
}

TEST_CASE("segment_needs_neither_locked_memory_nor_privileges") {
  RemotePeer user([](Wire& wire) {
    const rlimit memlock{64 * 1024, 64 * 1024};
    require(::setrlimit(RLIMIT_MEMLOCK, &memlock) == 0, "ulimit -l 64");
    constexpr uid_t kNobody = 65534;
    require(::geteuid() != 0 || ::setuid(kNobody) == 0, "become nobody");
    const SharedSegment segment(8 * kChunk, PageKind::kSmall, 0);
    std::fill_n(segment.data(), segment.size(), std::byte{1});
    wire.meet();
  });
  user.wire().meet();
  user.join();
}

TEST_CASE("small_limit_of_file_sizes_is_an_error_and_no_signal") {
  RemotePeer user([](Wire& wire) {
    const rlimit files{kPage, kPage};
    require(::setrlimit(RLIMIT_FSIZE, &files) == 0, "ulimit -f 4");
    const std::string text = error_text([] { SharedSegment(kChunk, PageKind::kSmall, -1); });
    require(text.find("ulimit -f") != std::string::npos, text);
    wire.meet();
  });
  user.wire().meet();
  user.join();
}

TEST_CASE("pages_of_a_part_are_there_before_they_are_touched") {
  SharedSegment segment(8 * kPage, PageKind::kSmall, -1);
  const auto blocks = [&] {
    struct stat status {};
    const auto location = SharedSegment::find(segment.data(), segment.size());
    require(location && fstat(location->fd, &status) == 0, "fstat");
    return static_cast<std::size_t>(status.st_blocks) * 512;
  };
  CHECK(blocks() == 0);
  CHECK(segment.try_take_pages(2 * kPage, 3 * kPage));
  CHECK(blocks() == 3 * kPage);
  CHECK(all_zero(segment));
  CHECK_FALSE(segment.try_take_pages(7 * kPage, 2 * kPage));
  CHECK_FALSE(segment.try_take_pages(8 * kPage, kPage));
  CHECK_FALSE(segment.try_take_pages(kPage, SIZE_MAX));
}

TEST_CASE("too_little_address_space_is_an_error") {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  WARN("SKIPPED: the sanitizer needs far more address space than the limit leaves");
  return;
#endif
  RemotePeer user([](Wire& wire) {
    const rlimit space{64 << 20, 64 << 20};
    require(::setrlimit(RLIMIT_AS, &space) == 0, "ulimit -v 65536");
    const std::string text = error_text([] { SharedSegment(1 << 30, PageKind::kSmall, -1); });
    require(text.find("ulimit -v") != std::string::npos, text);
    wire.meet();
  });
  user.wire().meet();
  user.join();
}
