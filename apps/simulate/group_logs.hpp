// SPDX-License-Identifier: MIT
// The logs that the nodes of the workload groups write.
#pragma once

#include <cstdint>
#include <filesystem>

#include "groups/groups.hpp"
#include "groups_course.hpp"

namespace simulate {

/// The logs of a run: one in each of several folders, in memory where there is a place for it.
class GroupLogs {
 public:
  /// Without `any` there are none.
  explicit GroupLogs(bool any);
  GroupLogs(const GroupLogs&) = delete;
  GroupLogs& operator=(const GroupLogs&) = delete;
  ~GroupLogs();

  bool any() const { return !root_.empty(); }
  groups::LogOptions of(std::uint32_t node) const;
  /// What it had is gone.
  void empty(std::uint32_t node) const;
  /// When all have ended: what is in them is what was delivered, with all that was persisted.
  void check(GroupCourse& course) const;

 private:
  std::filesystem::path root_;
};

}  // namespace simulate
