// SPDX-License-Identifier: MIT
// The durable log: records that share fdatasyncs, beside the same bytes written in one go.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/groups/group.hpp"
#include "groups/log.hpp"

namespace groups_bench {
namespace {

constexpr std::uint32_t kLogRecord = 1024;
/// As much as dd writes at once.
constexpr std::size_t kLogBlock = 1 << 20;
/// At least so much, so that the first fdatasync is not all.
constexpr std::uint64_t kFewestRecords = 16 << 10;

/// In the current folder, since that of temporary files may be memory.
class LogFolder {
 public:
  LogFolder() : path_("cariama-bench-XXXXXX") {
    require(::mkdtemp(path_.data()) != nullptr, "no folder can be made here");
  }
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;
  ~LogFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

double append_all(bench::Batch& batch) {
  const LogFolder folder;
  groups::LogOptions options;
  options.folder = folder.path();
  options.group = 1;
  groups::Log log(options);
  const std::vector<std::byte> record(kLogRecord, std::byte{7});
  return batch.bytes_per_second(kLogRecord, [&] {
    for (std::uint64_t i = 0; i < batch.iterations();) {
      const groups::AppendStatus status = log.try_append(1, record);
      require(status != groups::AppendStatus::kFailed, "the disk has failed");
      if (status == groups::AppendStatus::kAccepted) {
        ++i;
      } else {
        ::usleep(50);
      }
    }
    while (log.persisted() < batch.iterations()) {
      require(!log.failed(), "the disk has failed");
      ::usleep(50);
    }
  });
}

double write_all(bench::Batch& batch) {
  const LogFolder folder;
  const int file = ::open((folder.path() + "/file").c_str(), O_WRONLY | O_CREAT, 0644);
  const std::vector<std::byte> block(kLogBlock, std::byte{7});
  const double rate = batch.bytes_per_second(kLogRecord, [&] {
    for (std::uint64_t left = batch.iterations() * kLogRecord; left != 0;) {
      const ssize_t wrote = ::write(file, block.data(), std::min<std::uint64_t>(left, kLogBlock));
      require(wrote > 0, "the disk has failed");
      left -= static_cast<std::uint64_t>(wrote);
    }
    require(::fdatasync(file) == 0, "the disk has failed");
  });
  ::close(file);
  return rate;
}

}  // namespace

void add_log_cases(bench::Suite& suite) {
  suite.add({.name = "log_append",
             .size = kLogRecord,
             .unit = bench::Unit::kBytesPerSecond,
             .variants = {{.name = "log", .measure = append_all},
                          {.name = "fdatasync", .measure = write_all}},
             .ratios = {{.over = "log", .under = "fdatasync", .bar = ">= 0.7"}},
             .min_iterations = kFewestRecords});
}

}  // namespace groups_bench
