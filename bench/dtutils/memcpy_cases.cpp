// SPDX-License-Identifier: MIT
// Large writes against memcpy into the very same memory of the other process.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "bench/dtutils/cases.hpp"
#include "bench/dtutils/writes.hpp"

namespace link_bench {
namespace {

/// The peer's segment, mapped into this process as the shm device maps it: pages of one memory
/// file, found through /proc. Setup only.
class PeerMapping {
 public:
  PeerMapping(bench::Channel& channel, const Link& link) : size_(link.segment.size()) {
    struct File {
      pid_t pid;
      int fd;
    };
    const auto own = dtutils::SharedSegment::find(link.segment.data(), size_);
    const File peer = channel.exchange(File{::getpid(), own.value().fd});
    const std::string path = fmt::format("/proc/{}/fd/{}", peer.pid, peer.fd);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "cannot open " + path);
    void* address = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int code = errno;
    ::close(fd);
    if (address == MAP_FAILED) {
      throw std::system_error(code, std::generic_category(), "cannot map " + path);
    }
    base_ = static_cast<std::byte*>(address);
  }
  ~PeerMapping() { ::munmap(base_, size_); }
  PeerMapping(const PeerMapping&) = delete;
  PeerMapping& operator=(const PeerMapping&) = delete;

  std::byte* inbox() const noexcept { return base_ + Link::kBoxSize; }

 private:
  std::size_t size_;
  std::byte* base_ = nullptr;
};

void copy_all(const Link& link, std::byte* inbox, const Slots& slots, std::uint64_t posts) {
  for (std::uint64_t n = 0; n < posts; ++n) {
    const std::size_t offset = slots.offset(n);
    std::memcpy(inbox + offset, link.outbox() + offset, slots.size());
    bench::keep_memory();
  }
}

}  // namespace

void add_memcpy_cases(bench::Suite& suite, const EndsPtr& ends) {
  for (const std::uint32_t size : {64u << 10, 1u << 20}) {
    const Slots slots(size);
    const auto mapping = std::make_shared<std::unique_ptr<PeerMapping>>();
    const auto copy = [mapping](Ends& own, const Slots& where, std::uint64_t posts) {
      copy_all(own.link, (*mapping)->inbox(), where, posts);
    };
    const bench::Unit unit = bench::Unit::kBytesPerSecond;
    suite.add({.name = "write_bandwidth_vs_memcpy",
               .size = size,
               .unit = unit,
               .variants = {writing("write", ends, slots, unit, write_by_queue_pair),
                            writing("memcpy", ends, slots, unit, copy)},
               .ratios = {{.over = "write", .under = "memcpy", .bar = ">= 0.9"}},
               .prepare =
                   [mapping, &ends](bench::Channel& channel) {
                     *mapping = std::make_unique<PeerMapping>(channel, ends->link);
                   },
               .finish =
                   [mapping](bench::Channel& channel) {
                     channel.barrier();
                     mapping->reset();
                   }});
  }
}

}  // namespace link_bench
