// SPDX-License-Identifier: MIT
// Settings are kept per machine, so a lock on a folder of /sys keeps tests of other programs away.
#include "support/huge_pages.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace support {
namespace {

std::string read_word(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::size_t open = line.find('[');
  return open == std::string::npos ? line : line.substr(open + 1, line.find(']') - open - 1);
}

std::size_t read_number(const std::string& path) {
  return std::strtoull(read_word(path).c_str(), nullptr, 10);
}

/// Tries for 20 s: whoever holds the lock may have been stopped.
bool lock_in_time(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace

SystemSetting::SystemSetting(std::string path)
    : path_(std::move(path)),
      lock_(::open("/sys/kernel/mm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      locked_(lock_in_time(lock_)) {
  before_ = get();
}

SystemSetting::~SystemSetting() {
  if (locked_ && get() != before_) write(before_);
  ::close(lock_);
}

std::string SystemSetting::set(const std::string& value) {
  if (!locked_) return "another test holds this machine's memory settings";
  return write(value) ? "" : "only root may write to " + path_;
}

bool SystemSetting::write(const std::string& value) {
  std::ofstream file(path_);
  file << value << std::flush;
  return file.good();
}

std::string SystemSetting::get() const { return read_word(path_); }

HugePagePool::HugePagePool(std::size_t page_size)
    : folder_("/sys/kernel/mm/hugepages/hugepages-" + std::to_string(page_size / 1024) + "kB"),
      count_(folder_ + "/nr_hugepages") {}

std::string HugePagePool::add(std::size_t pages) {
  if (count_.get().empty()) return "this machine has no pages of that size";
  if (std::string why = count_.set(std::to_string(total() + pages)); !why.empty()) return why;
  return free() < pages ? "the kernel has no room for so many huge pages" : "";
}

std::size_t HugePagePool::free() const { return read_number(folder_ + "/free_hugepages"); }

std::size_t HugePagePool::total() const { return read_number(folder_ + "/nr_hugepages"); }

std::size_t mapping_value(const void* address, const std::string& field) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool inside = false;
  while (std::getline(maps, line)) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      inside = begin <= at && at < end;
    } else if (inside && line.starts_with(field + ":")) {
      return std::stoull(line.substr(field.size() + 1));
    }
  }
  return 0;
}

}  // namespace support
