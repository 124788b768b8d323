// SPDX-License-Identifier: MIT
// Files as a log uses them.
#include "log/files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "dtutils/error.hpp"

namespace groups::detail {

void file_error(const std::string& path, std::string_view what, int code) {
  throw dtutils::Error(path, what,
                       code == ENOSPC || code == EDQUOT || code == EFBIG
                           ? "make room on the disk; what was acknowledged is safe"
                           : "check the folder, its owner and the disk",
                       code);
}

File::File(const std::string& path, int flags)
    : path_(path), descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) file_error(path, "cannot be opened", errno);
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::uint64_t File::size() const {
  struct stat status;
  if (fstat(descriptor_, &status) != 0) file_error(path_, "fstat failed", errno);
  return static_cast<std::uint64_t>(status.st_size);
}

void File::write(std::uint64_t at, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      file_error(path_, fmt::format("writing stopped at byte {}", at), wrote < 0 ? errno : ENOSPC);
    }
    at += static_cast<std::uint64_t>(wrote);
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
}

void File::start_sync(std::uint64_t at, std::uint64_t bytes) const noexcept {
  // Without a wait it takes no error away from the fdatasync that follows.
  (void)sync_file_range(descriptor_, static_cast<off_t>(at), static_cast<off_t>(bytes),
                        SYNC_FILE_RANGE_WRITE);
}

void File::truncate(std::uint64_t size) const {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    file_error(path_, "cannot be cut", errno);
  }
}

void File::sync() const {
  if (fdatasync(descriptor_) != 0) file_error(path_, "fdatasync failed", errno);
}

MappedFile::MappedFile(const std::string& path) {
  const File file(path, O_RDONLY);
  const std::uint64_t size = file.size();
  if (size == 0) return;
  void* begin = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (begin == MAP_FAILED) file_error(path, "cannot be mapped", errno);
  bytes_ = {static_cast<const std::byte*>(begin), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void sync_folder(const std::string& folder) {
  const File file(folder, O_RDONLY | O_DIRECTORY);
  if (fsync(file.descriptor()) != 0) file_error(folder, "fsync failed", errno);
}

void remove_file(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) file_error(path, "cannot be removed", errno);
}

}  // namespace groups::detail
