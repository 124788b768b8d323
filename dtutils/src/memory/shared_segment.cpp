// SPDX-License-Identifier: MIT
// Memory files: created, sealed, mapped, bound and filled with pages before anyone uses them.
#include "dtutils/shared_segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/memfd.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>

#include "dtutils/error.hpp"
#include "dtutils/limits.hpp"
#include "dtutils/numa.hpp"
#include "memory/page_kind.hpp"
#include "memory/sizes.hpp"

namespace dtutils {
namespace {

/// All segments of this process by their first address.
struct Registry {
  std::mutex mutex;
  std::map<const std::byte*, SharedSegment::Location> segments;
};

/// Never destroyed, since segments may outlive every static object.
Registry& registry();

// The lock is held across a fork, so that a child finds it free and the map whole, and can open a
// device of its own.
void lock_for_fork() { registry().mutex.lock(); }
void unlock_after_fork() { registry().mutex.unlock(); }

Registry& registry() {
  static Registry& instance = *[] {
    const int code = pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
    if (code != 0) throw Error("memory segment", "pthread_atfork failed", "free some memory", code);
    return new Registry;
  }();
  return instance;
}

std::size_t machine_memory() {
  struct sysinfo info {};
  sysinfo(&info);
  return (info.totalram + info.totalswap) * info.mem_unit;
}

std::size_t largest_file() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// Memory never is code: newer kernels want to be told, some accept nothing else (memfd_create(2),
/// vm.memfd_noexec); those before Linux 6.3 do not know the flag.
int make_memory_file(PageKind kind) noexcept {
  constexpr unsigned kNoExecuteSeal = 8;
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  if (kind == PageKind::kHuge1GB) {
    flags |= MFD_HUGETLB | MFD_HUGE_1GB;
  } else if (kind == PageKind::kHuge2MB) {
    flags |= MFD_HUGETLB | MFD_HUGE_2MB;
  }
  const int fd = memfd_create("cariama", flags | kNoExecuteSeal);
  return fd < 0 && errno == EINVAL ? memfd_create("cariama", flags) : fd;
}

/// Maps the file at a multiple of `align`; MAP_FAILED and errno when that is not possible.
void* map_aligned(int fd, std::size_t size, std::size_t align) noexcept {
  const std::size_t room = size + align;
  void* reserved =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    return MAP_FAILED;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(reserved);
  const std::uintptr_t start = (begin + align - 1) / align * align;
  void* mapped = mmap(reinterpret_cast<void*>(start), size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED, fd, 0);
  const int code = errno;
  // Only the margins: after a failure the middle may already belong to another thread's mapping.
  if (start > begin) {
    munmap(reserved, start - begin);
  }
  if (start + size < begin + room) {
    munmap(reinterpret_cast<void*>(start + size), begin + room - start - size);
  }
  errno = code;
  return mapped;
}

/// The nodes of a NUMA system call: only `node`; empty when there is no such node.
class NodeMask {
 public:
  explicit NodeMask(int node) noexcept : nodes_(numa_allocate_nodemask(), numa_bitmask_free) {
    has_ = static_cast<unsigned>(node) < nodes_->size;
    if (has_) {
      numa_bitmask_setbit(nodes_.get(), static_cast<unsigned>(node));
    }
  }
  explicit operator bool() const noexcept { return has_; }
  const unsigned long* bits() const noexcept { return nodes_->maskp; }
  unsigned long size() const noexcept { return nodes_->size + 1; }

 private:
  std::unique_ptr<bitmask, decltype(&numa_bitmask_free)> nodes_;
  bool has_;
};

/// Binds what the calling thread allocates to `node` for a scope. fallocate(2) on a file of huge
/// pages follows the policy of the thread, not that of a mapping.
class ThreadPolicy {
 public:
  explicit ThreadPolicy(int node) noexcept : before_(numa_allocate_nodemask(), numa_bitmask_free) {
    const NodeMask nodes(node);
    bound_ = node >= 0 && nodes && has_numa() &&
             get_mempolicy(&mode_, before_->maskp, before_->size + 1, nullptr, 0) == 0 &&
             set_mempolicy(MPOL_BIND, nodes.bits(), nodes.size()) == 0;
  }
  ThreadPolicy(const ThreadPolicy&) = delete;
  ThreadPolicy& operator=(const ThreadPolicy&) = delete;
  ~ThreadPolicy() {
    if (bound_) {
      set_mempolicy(mode_, before_->maskp, before_->size + 1);
    }
  }

 private:
  std::unique_ptr<bitmask, decltype(&numa_bitmask_free)> before_;
  int mode_ = MPOL_DEFAULT;
  bool bound_ = false;
};

}  // namespace

SharedSegment::SharedSegment(std::size_t length, PageKind kind, int node) : SharedSegment(kind) {
  const std::size_t available = machine_memory();
  if (length == 0 || length > available) {
    throw Error(fmt::format("memory segment of {}", format_bytes(length)),
                fmt::format("a segment holds between 1 byte and this machine's {} of memory",
                            format_bytes(available)),
                "ask for another size");
  }
  size_ = (length + page_size(kind) - 1) / page_size(kind) * page_size(kind);
  if (kind == PageKind::kTransparentHuge) {
    check_transparent_pages(name());
  }
  create_file();
  map();
  bind(node);
  take_pages(node);
  enlist();
}

SharedSegment::~SharedSegment() {
  if (data_ != nullptr) {
    {
      const std::lock_guard lock(registry().mutex);
      registry().segments.erase(data_);
    }
    munmap(data_, size_);
  }
  if (fd_ >= 0) {
    close(fd_);
  }
}

std::string SharedSegment::name() const {
  return fmt::format("memory segment of {} on {}", format_bytes(size_), to_string(kind_));
}

void SharedSegment::create_file() {
  // The kernel kills a process that asks for a file above this limit (setrlimit(2), SIGXFSZ).
  if (size_ > largest_file()) {
    throw Error(name(), "the limit of file sizes is smaller", "raise it: ulimit -f unlimited");
  }
  fd_ = make_memory_file(kind_);
  if (fd_ < 0) {
    const int code = errno;
    throw Error(name(), "the kernel makes no such memory file",
                from_pool(kind_) ? pool_remedy(kind_, size_, -1)
                                 : "raise the limit of open files (ulimit -n)",
                code);
  }
  struct stat status {};
  if (ftruncate(fd_, static_cast<off_t>(size_)) != 0 ||
      fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      fstat(fd_, &status) != 0) {
    const int code = errno;
    throw Error(name(), "the memory file cannot be given its size", "ask for less memory", code);
  }
  inode_ = status.st_ino;
}

void SharedSegment::map() {
  // The kernel aligns pages of a pool itself.
  void* mapped = from_pool(kind_) ? mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0)
                                  : map_aligned(fd_, size_, size_ >= kChunk ? kChunk : kPage);
  if (mapped == MAP_FAILED) {
    const int code = errno;
    throw Error(
        name(), from_pool(kind_) ? "the pool has too few free pages" : "the memory is not mapped",
        from_pool(kind_) ? pool_remedy(kind_, size_, -1)
                         : "ask for less memory, or raise the limit of virtual memory (ulimit -v)",
        code);
  }
  data_ = static_cast<std::byte*>(mapped);
}

void SharedSegment::bind(int node) {
  if (kind_ == PageKind::kTransparentHuge && madvise(data_, size_, MADV_HUGEPAGE) != 0) {
    const int code = errno;
    throw Error(name(), "the kernel accepts no advice about transparent huge pages",
                "allow smaller pages", code);
  }
  if (node < 0 || !has_numa()) {
    return;
  }
  // A full node must fail the construction where pages are taken now, and must not kill the process
  // where they are taken later.
  const int policy = from_pool(kind_) ? MPOL_BIND : MPOL_PREFERRED;
  const NodeMask nodes(node);
  if (!nodes || mbind(data_, size_, policy, nodes.bits(), nodes.size(), 0) != 0) {
    const int code = errno;
    throw Error(name(), fmt::format("it cannot be bound to NUMA node {}", node),
                "use a zone that numa_zones() names", code);
  }
}

void SharedSegment::take_pages(int node) {
  if (!from_pool(kind_)) {
    return;
  }
  int code = 0;
  {
    const ThreadPolicy policy(node);
    do {
      code = fallocate(fd_, 0, 0, static_cast<off_t>(size_)) == 0 ? 0 : errno;
    } while (code == EINTR);
  }
  if (code != 0) {
    throw Error(name(), "the pool has too few free pages", pool_remedy(kind_, size_, node), code);
  }
}

bool SharedSegment::try_take_pages(std::size_t offset, std::size_t length) noexcept {
  return offset < size_ && length <= size_ - offset &&
         fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0;
}

void SharedSegment::enlist() {
  const std::lock_guard lock(registry().mutex);
  registry().segments.emplace(data_, Location{fd_, inode_, 0, data_, size_});
}

std::optional<SharedSegment::Location> SharedSegment::find(const void* address,
                                                           std::size_t length) {
  const auto* begin = static_cast<const std::byte*>(address);
  const std::lock_guard lock(registry().mutex);
  auto after = registry().segments.upper_bound(begin);
  if (after == registry().segments.begin()) {
    return std::nullopt;
  }
  Location location = std::prev(after)->second;
  location.offset = static_cast<std::size_t>(begin - location.segment);
  if (location.offset >= location.segment_size ||
      length > location.segment_size - location.offset) {
    return std::nullopt;
  }
  return location;
}

}  // namespace dtutils
