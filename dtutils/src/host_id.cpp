// SPDX-License-Identifier: MIT
// Reads the boot id and the PID namespace from /proc.
#include "host_id.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"

namespace dtutils {
namespace {

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr const char* kPidNamespace = "/proc/self/ns/pid";

[[noreturn]] void fail(const char* file, int code) {
  throw Error(file, "cannot be read",
              code == EMFILE || code == ENFILE ? "close some files, or raise `ulimit -n`"
                                               : "mount /proc in this container or chroot",
              code);
}

std::string read_boot_id() {
  const int fd = ::open(kBootId, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(kBootId, errno);
  char text[64];
  const ssize_t size = ::read(fd, text, sizeof text);
  const int code = errno;
  ::close(fd);
  if (size <= 0) fail(kBootId, size < 0 ? code : 0);
  return {text, static_cast<std::size_t>(size)};
}

std::string read_pid_namespace() {
  char text[64];
  const ssize_t size = ::readlink(kPidNamespace, text, sizeof text);
  if (size < 0) fail(kPidNamespace, errno);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

std::uint64_t host_id() { return Fnv1a().text(read_boot_id()).text(read_pid_namespace()).value(); }

}  // namespace dtutils
