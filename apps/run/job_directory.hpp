// SPDX-License-Identifier: MIT
// Where the detached jobs of this user are found.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace run {

/// The folder of a job that runs: its name is taken as long as `lock` is open in any process. The
/// operating system closes it when the keeper ends, however that happens, so a number of a process
/// that is used again cannot be mistaken for a keeper.
struct JobFolder {
  std::string name;
  int lock = -1;
  /// Where the keeper is asked.
  int listener = -1;

  void close_all() noexcept;
};

/// $XDG_RUNTIME_DIR/cariama, or /tmp/cariama-UID: for this user alone. A job has the folder NAME in
/// it, with its secret, address, lock, socket and a link to its log, and unless it is told
/// otherwise its log in NAME.log, which stays when the job has ended.
class JobDirectory {
 public:
  /// Makes it where it is not there. Throws dtutils::Error when it belongs to somebody else, others
  /// may look into it, or it cannot be made.
  JobDirectory();

  std::string folder(const std::string& name) const { return path_ + "/" + name; }
  std::string default_log(const std::string& name) const { return folder(name) + ".log"; }
  /// Letters, digits, _ and -, at most 64, not - at first.
  static bool is_name(const std::string& name);

  /// Takes the name, also that of a job whose keeper was killed. Throws dtutils::Error when a job
  /// that runs has it.
  JobFolder claim(const std::string& name) const;
  /// Who holds the name.
  struct Found {
    enum class Kind { kNone, kRunning, kGone } kind = Kind::kNone;
    pid_t keeper = 0;
    std::string log;
  };
  /// What is left of a job whose keeper was killed is removed, but its log; it is found once.
  Found find(const std::string& name) const;
  /// Sorted.
  std::vector<std::string> names() const;
  /// The job has ended. Never throws.
  void remove(const std::string& name) const noexcept;
  /// A connection to its keeper; -1 when there is none to be had, with errno.
  int connect_to(const std::string& name) const;

 private:
  Found look(const std::string& name) const;
  JobFolder make(const std::string& name) const;

  std::string path_;
};

}  // namespace run
