// SPDX-License-Identifier: MIT
// Where the logs are, and what must be in them.
#include "group_logs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <string>

namespace simulate {

namespace fs = std::filesystem;

GroupLogs::GroupLogs(bool any) {
  if (!any) return;
  std::error_code none;
  const fs::path memory = "/dev/shm";
  root_ = (access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path()) /
          fmt::format("cariama-simulate-{}", getpid());
  fs::remove_all(root_, none);
}

GroupLogs::~GroupLogs() {
  std::error_code none;
  if (any()) fs::remove_all(root_, none);
}

groups::LogOptions GroupLogs::of(std::uint32_t node) const {
  return {.folder = (root_ / std::to_string(node)).string(),
          .group = 7,
          .buffer = std::uint64_t{4} << 10,
          .segment = std::uint64_t{2} << 10};
}

void GroupLogs::empty(std::uint32_t node) const {
  std::error_code none;
  fs::remove_all(of(node).folder, none);
}

void GroupLogs::check(GroupCourse& course) const {
  for (std::uint32_t node = 0; node < course.members.size(); ++node) {
    if (!any() || course.members[node].persisted == 0) continue;
    const groups::Log log(of(node));
    log.replay(0, [&](const groups::LogRecord& record) { course.logged(node, record); });
    if (const std::uint64_t end = log.extent().end; end < course.members[node].persisted) {
      course.violated(fmt::format("the log of node {} ends at {}, and {} was persisted", node, end,
                                  course.members[node].persisted));
    }
  }
}

}  // namespace simulate
