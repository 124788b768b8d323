// SPDX-License-Identifier: MIT
// Asks the kernel for its mappings.
#include "software/protection.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "dtutils/error.hpp"

namespace dtutils::software {
namespace {

// Of this thread: the list of a process whose first thread has ended is empty.
constexpr const char* kList = "/proc/thread-self/maps";

[[noreturn]] void refuse() {
  throw Error(kList, "it cannot be opened", "raise `ulimit -n`; mount /proc", errno);
}

/// A mapping, and what it grants.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool readable = false;
  bool writable = false;
};

/// Takes mappings in their order, none of which overlap.
class Range {
 public:
  Range(const void* address, std::size_t length) noexcept
      : seen_(reinterpret_cast<std::uintptr_t>(address)), end_(seen_ + length) {}

  /// Where the next one has to lie, and whether there has to be one.
  std::uintptr_t next() const noexcept { return seen_; }
  bool covered() const noexcept { return seen_ >= end_; }
  /// False: there is a hole before it.
  bool take(const Mapping& mapping) noexcept {
    if (mapping.end <= seen_) return true;
    if (mapping.begin > seen_) return false;
    if (!mapping.readable) granted_ &= ~PROT_READ;
    if (!mapping.writable) granted_ &= ~PROT_WRITE;
    seen_ = mapping.end;
    return true;
  }
  std::optional<int> granted() const noexcept {
    return covered() ? std::optional(granted_) : std::nullopt;
  }

 private:
  std::uintptr_t seen_;
  const std::uintptr_t end_;
  int granted_ = PROT_READ | PROT_WRITE;
};

/// PROCMAP_QUERY (Linux 6.11, include/uapi/linux/fs.h): finds one mapping, however many there are.
struct Query {
  std::uint64_t size = sizeof(Query);
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t granted = 0;
  std::uint64_t page_size = 0;
  std::uint64_t offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t device[2] = {};
  std::uint32_t name_size = 0;
  std::uint32_t build_id_size = 0;
  std::uint64_t name = 0;
  std::uint64_t build_id = 0;

  static constexpr std::uint64_t kReadable = 1;
  static constexpr std::uint64_t kWritable = 2;
};
static_assert(sizeof(Query) == 104);
constexpr unsigned long kQuery = _IOWR('f', 17, Query);

/// False: the kernel has no such query.
bool take_by_query(Range& range) {
  const int list = open(kList, O_RDONLY | O_CLOEXEC);
  if (list < 0) refuse();
  int code = 0;
  while (code == 0 && !range.covered()) {
    Query query;
    query.address = range.next();
    code = ioctl(list, kQuery, &query) == 0 ? 0 : errno;
    if (code == 0) {
      (void)range.take({query.begin, query.end, (query.granted & Query::kReadable) != 0,
                        (query.granted & Query::kWritable) != 0});
    }
  }
  close(list);
  return code == 0 || code == ENOENT;
}

}  // namespace

std::optional<int> protection_by_reading(const void* address, std::size_t length) {
  Range range(address, length);
  std::ifstream list(kList);
  if (!list) refuse();
  std::string line;
  while (!range.covered() && std::getline(list, line)) {
    unsigned long from = 0;
    unsigned long to = 0;
    char read = 0;
    char write = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %c%c", &from, &to, &read, &write) != 4) break;
    if (!range.take({from, to, read == 'r', write == 'w'})) break;
  }
  return range.granted();
}

std::optional<int> protection_of(const void* address, std::size_t length) {
  Range range(address, length);
  return take_by_query(range) ? range.granted() : protection_by_reading(address, length);
}

}  // namespace dtutils::software
