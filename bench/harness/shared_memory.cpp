// SPDX-License-Identifier: MIT
// Shared anonymous mappings.
#include "bench/harness/shared_memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

namespace bench {

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (address == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot map " + std::to_string(bytes) + " bytes of shared memory");
  }
  data_ = static_cast<std::byte*>(address);
}

SharedMemory::~SharedMemory() { ::munmap(data_, bytes_); }

}  // namespace bench
