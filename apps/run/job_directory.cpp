// SPDX-License-Identifier: MIT
// Folders of jobs, their locks and their sockets.
#include "job_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "dtutils/error.hpp"
#include "output.hpp"

namespace run {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what, int code = 0) {
  throw dtutils::Error(path, what,
                       "remove it, or set XDG_RUNTIME_DIR to a folder that is yours alone", code);
}

/// Held by whoever looks at, makes or removes folders of jobs, which takes no time.
class Guard {
 public:
  explicit Guard(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    const auto by = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK && std::chrono::steady_clock::now() < by) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        continue;
      }
      const int code = errno;
      close(fd_);
      throw dtutils::Error(path, "another launcher holds its lock", "end that one, or try again",
                           code);
    }
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { close(fd_); }

 private:
  int fd_;
};

/// Names the socket of a folder by a short path, whatever the length of the folder's own.
struct SocketAddress {
  explicit SocketAddress(const std::string& folder)
      : fd(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", fd);
  }
  SocketAddress(const SocketAddress&) = delete;
  SocketAddress& operator=(const SocketAddress&) = delete;
  ~SocketAddress() { close(fd); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  int fd;
  sockaddr_un address{AF_UNIX, {}};
};

}  // namespace

void JobFolder::close_all() noexcept {
  for (int* const fd : {&lock, &listener}) {
    if (*fd >= 0) close(std::exchange(*fd, -1));
  }
}

JobDirectory::JobDirectory() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  path_ = runtime != nullptr && *runtime != '\0' ? fmt::format("{}/cariama", runtime)
                                                 : fmt::format("/tmp/cariama-{}", geteuid());
  if (path_.front() != '/') refuse(path_, "this is no absolute path");
  if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) refuse(path_, "cannot be made", errno);
  struct stat found;
  if (lstat(path_.c_str(), &found) != 0) refuse(path_, "cannot be looked at", errno);
  if (!S_ISDIR(found.st_mode)) refuse(path_, "is no directory");
  if (found.st_uid != geteuid()) {
    refuse(path_, fmt::format("belongs to user {}, and not to user {}", found.st_uid, geteuid()));
  }
  if ((found.st_mode & 0777) != 0700) {
    refuse(path_,
           fmt::format("has mode {:o}, and must have 700: it holds secrets", found.st_mode & 0777));
  }
}

bool JobDirectory::is_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name.front() != '-' &&
         std::ranges::all_of(name, [](unsigned char c) {
           return (c < 128 && std::isalnum(c) != 0) || c == '_' || c == '-';
         });
}

JobFolder JobDirectory::claim(const std::string& name) const {
  const Guard guard(path_);
  const Found found = look(name);
  if (found.kind == Found::Kind::kRunning) {
    throw dtutils::Error(
        fmt::format("--name {}", name),
        fmt::format("a job that runs has this name (its keeper is process {})", found.keeper),
        "take another name, or end that job by --attach and --end");
  }
  remove(name);
  try {
    return make(name);
  } catch (...) {
    remove(name);
    throw;
  }
}

JobFolder JobDirectory::make(const std::string& name) const {
  JobFolder made{name, -1, -1};
  const auto require = [&](bool done, const char* what) {
    if (done) return;
    const int code = errno;
    made.close_all();
    refuse(folder(name), what, code);
  };
  require(mkdir(folder(name).c_str(), 0700) == 0, "cannot be made");
  made.lock = open((folder(name) + "/lock").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  require(made.lock >= 0 && flock(made.lock, LOCK_EX | LOCK_NB) == 0, "cannot be locked");
  made.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const SocketAddress address(folder(name));
  require(made.listener >= 0 && bind(made.listener, address.get(), sizeof address.address) == 0 &&
              listen(made.listener, 64) == 0,
          "takes no socket");
  return made;
}

JobDirectory::Found JobDirectory::look(const std::string& name) const {
  Found found;
  struct stat status;
  if (lstat(folder(name).c_str(), &status) != 0) return found;
  const std::string lock = folder(name) + "/lock";
  std::ifstream(lock) >> found.keeper;
  std::error_code none;
  found.log = std::filesystem::read_symlink(folder(name) + "/log", none);
  const int fd = open(lock.c_str(), O_RDONLY | O_CLOEXEC);
  const bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
  if (fd >= 0) close(fd);
  found.kind = held ? Found::Kind::kRunning : Found::Kind::kGone;
  return found;
}

JobDirectory::Found JobDirectory::find(const std::string& name) const {
  const Guard guard(path_);
  const Found found = look(name);
  if (found.kind == Found::Kind::kGone) remove(name);
  return found;
}

std::vector<std::string> JobDirectory::names() const {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const std::string name = entry.path().filename();
    if (is_name(name) && entry.is_directory()) all.push_back(name);
  }
  std::ranges::sort(all);
  return all;
}

void JobDirectory::remove(const std::string& name) const noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(folder(name), ignored);
}

int JobDirectory::connect_to(const std::string& name) const {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const SocketAddress address(folder(name));
  if (fd < 0 || connect(fd, address.get(), sizeof address.address) == 0) return fd;
  const int code = errno;
  close(fd);
  errno = code;
  return -1;
}

}  // namespace run
