// SPDX-License-Identifier: MIT
// Settings are kept per machine, so a lock on a folder of /sys keeps tests of other programs away.
#include "support/huge_pages.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

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

}  // namespace

SystemSetting::SystemSetting(std::string path)
    : path_(std::move(path)), lock_(::open("/sys/kernel/mm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  ::flock(lock_, LOCK_EX);
  before_ = get();
}

SystemSetting::~SystemSetting() {
  if (get() != before_) set(before_);
  ::close(lock_);
}

bool SystemSetting::set(const std::string& value) {
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
  if (!count_.set(std::to_string(total() + pages))) return "only root may reserve huge pages";
  return free() < pages ? "the kernel has no room for so many huge pages" : "";
}

std::size_t HugePagePool::free() const { return read_number(folder_ + "/free_hugepages"); }

std::size_t HugePagePool::total() const { return read_number(folder_ + "/nr_hugepages"); }

}  // namespace support
