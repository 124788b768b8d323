// SPDX-License-Identifier: MIT
// Exported: what takes memory away from under a program, which may have been sent asynchronously
// and not read yet. Only in the copy of the library for such sends.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdarg>
#include <cstdlib>

#include "asynchronous.hpp"
#include "signals.hpp"

namespace {

[[gnu::constructor]] void begin() { preload::permit_asynchronous_sends(); }

/// A function of the C library, found when it is first called: libraries whose constructors come
/// before that of this one call some.
template <class Function>
class Next {
 public:
  explicit constexpr Next(const char* name) noexcept : name_(name) {}
  Function* get() noexcept {
    Function* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
      found_.store(found, std::memory_order_relaxed);
    }
    return found;
  }

 private:
  const char* name_;
  std::atomic<Function*> found_{nullptr};
};

constinit Next<void(void*)> next_free("free");
constinit Next<void*(void*, std::size_t)> next_realloc("realloc");
constinit Next<int(void*, std::size_t)> next_munmap("munmap");
constinit Next<void*(void*, std::size_t, std::size_t, int, ...)> next_mremap("mremap");
constinit Next<int(void*, std::size_t, int)> next_madvise("madvise");
constinit Next<int(void*, std::size_t, int)> next_mprotect("mprotect");
constinit Next<void*(void*, std::size_t, int, int, int, off64_t)> next_mmap("mmap64");

void detach(void* begin, std::size_t size) noexcept {
  if (!streams::has_sent_memory()) return;
  const preload::HoldSignals hold;
  streams::detach_sent_memory(begin, size);
}

/// The allocator may give the pages of this block to the kernel.
void detach_block(void* block) noexcept {
  if (block == nullptr || !streams::has_sent_memory()) return;
  detach(block, malloc_usable_size(block));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void free(void* block) noexcept {
  detach_block(block);
  next_free.get()(block);
}

void* realloc(void* block, std::size_t size) noexcept {
  detach_block(block);
  return next_realloc.get()(block, size);
}

int munmap(void* begin, std::size_t size) noexcept {
  detach(begin, size);
  return next_munmap.get()(begin, size);
}

void* mremap(void* begin, std::size_t size, std::size_t new_size, int flags, ...) noexcept {
  detach(begin, size);
  if ((flags & MREMAP_FIXED) == 0) return next_mremap.get()(begin, size, new_size, flags);
  va_list list;
  va_start(list, flags);
  void* const target = va_arg(list, void*);
  va_end(list);
  detach(target, new_size);
  return next_mremap.get()(begin, size, new_size, flags, target);
}

int madvise(void* begin, std::size_t size, int advice) noexcept {
  detach(begin, size);
  return next_madvise.get()(begin, size, advice);
}

int mprotect(void* begin, std::size_t size, int protection) noexcept {
  detach(begin, size);
  return next_mprotect.get()(begin, size, protection);
}

void* mmap64(void* begin, std::size_t size, int protection, int flags, int fd,
             off64_t offset) noexcept {
  if ((flags & MAP_FIXED) != 0) detach(begin, size);
  return next_mmap.get()(begin, size, protection, flags, fd, offset);
}
void* mmap(void* begin, std::size_t size, int protection, int flags, int fd,
           off_t offset) noexcept {
  static_assert(sizeof(off_t) == sizeof(off64_t));
  return mmap64(begin, size, protection, flags, fd, offset);
}

}  // extern "C"
#pragma GCC visibility pop
