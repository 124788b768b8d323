// SPDX-License-Identifier: MIT
// StackSlab: one mapping, and a page without access below each stack.
#include "fiber/stack_slab.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "dtutils/error.hpp"
#include "dtutils/limits.hpp"

namespace riutils::detail {
namespace {

[[noreturn]] void refuse(std::uint32_t count, std::size_t size, int code) {
  throw dtutils::Error(fmt::format("{} fiber stacks of {} bytes", count, size),
                       fmt::format("the kernel gives no memory for them: {}", std::strerror(code)),
                       "lower FiberOptions::max_fibers or stack_size, or raise vm.max_map_count "
                       "(sysctl -w vm.max_map_count=262144)");
}

}  // namespace

StackSlab::StackSlab(std::uint32_t count, std::size_t size) : count_(count), size_(size) {
  const std::size_t stride = size_ + dtutils::kPage;
  void* const memory = mmap(nullptr, count * stride, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) refuse(count, size, errno);
  base_ = static_cast<std::byte*>(memory);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (mprotect(base_ + i * stride, dtutils::kPage, PROT_NONE) != 0) {
      const int code = errno;
      munmap(base_, count * stride);
      refuse(count, size, code);
    }
  }
}

StackSlab::~StackSlab() {
  if (base_ != nullptr) munmap(base_, count_ * (size_ + dtutils::kPage));
}

std::span<std::byte> StackSlab::stack(std::uint32_t index) const noexcept {
  return {base_ + index * (size_ + dtutils::kPage) + dtutils::kPage, size_};
}

}  // namespace riutils::detail
