// SPDX-License-Identifier: MIT
// What the log calls persisted is on the disk, as far as fdatasync(2) has brought it there.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>

#include "groups/support/log_folder.hpp"
#include "support/catch.hpp"

namespace {

/// Bytes of the file that was synchronized last, when it was.
std::atomic<std::uint64_t> synced{0};
/// How long that takes: a disk is slower than the machine's memory.
std::atomic<useconds_t> disk_microseconds{0};

}  // namespace

/// In front of that of the C library, for this program.
extern "C" int fdatasync(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return -1;
  usleep(disk_microseconds);
  const auto result = static_cast<int>(syscall(SYS_fdatasync, file));
  synced = static_cast<std::uint64_t>(status.st_size);
  return result;
}

TEST_CASE("persisted_records_are_on_the_disk_and_survive_the_loss_of_all_others") {
  const support::TestFolder folder, lost;
  constexpr std::uint64_t kRecords = 50;
  std::uint64_t persisted = 0;
  disk_microseconds = 2000;
  {
    groups::Log log(support::log_options(folder));
    dtutils::Deadline deadline(support::kPatience);
    // The machine ends at some moment, and what was not synchronized is gone.
    while (persisted < kRecords) {
      if (log.extent().end < persisted + 20) {
        (void)log.try_append(1, support::bytes_of(support::record_text(log.extent().end)));
      }
      const std::uint64_t now = log.persisted();
      if (deadline.passed()) FAIL("nothing is persisted");
      if (now == persisted) continue;
      persisted = now;
      const std::uint64_t safe = synced;
      std::filesystem::copy(folder.path(), lost.path(),
                            std::filesystem::copy_options::overwrite_existing |
                                std::filesystem::copy_options::recursive);
      std::filesystem::resize_file(lost.segments().back(), safe);
      const groups::Log left(support::log_options(lost));
      REQUIRE(left.extent().end >= persisted);
      support::require_records(left, 0, left.extent().end);
    }
  }
  disk_microseconds = 0;
}

TEST_CASE("batches_of_many_pieces_are_on_the_disk_when_they_are_called_persisted") {
  const support::TestFolder folder;
  constexpr std::uint64_t kRecords = 200, kBytes = 64 << 10;
  groups::LogOptions options = support::log_options(folder);
  // All goes round its end three times.
  options.buffer = 4 << 20;
  const auto text = [](std::uint64_t sequence) {
    return support::record_text(sequence) + std::string(kBytes, static_cast<char>(sequence));
  };
  disk_microseconds = 2000;
  {
    groups::Log log(options);
    dtutils::Deadline deadline(support::kPatience);
    for (std::uint64_t persisted = 0; persisted < kRecords; persisted = log.persisted()) {
      REQUIRE(synced >= persisted * kBytes);
      const std::uint64_t next = log.extent().end;
      if (next < kRecords) (void)log.try_append(1, support::bytes_of(text(next)));
      if (deadline.passed()) FAIL("nothing is persisted");
    }
  }
  disk_microseconds = 0;
  const groups::Log log(options);
  REQUIRE(log.extent().end == kRecords);
  std::uint64_t next = 0;
  log.replay(0, [&](const groups::LogRecord& record) {
    if (support::text_of(record.bytes) != text(next)) FAIL("record " << next << " differs");
    ++next;
  });
  CHECK(next == kRecords);
}
