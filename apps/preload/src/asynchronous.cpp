// SPDX-License-Identifier: MIT
// Asks the kernel what memory is, and waits for peers that have not read yet.
#include "asynchronous.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "connection.hpp"
#include "descriptor_table.hpp"
#include "descriptors.hpp"
#include "kernel_socket.hpp"
#include "poll.hpp"
#include "real.hpp"
#include "signals.hpp"

namespace preload {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kPage = 4096;
/// Above the frame of a call, in which buffers of its thread's stack lie.
constexpr std::uintptr_t kStack = std::uintptr_t{8} << 20;
constexpr milliseconds kWait{100};
constexpr timespec kNap{0, 500'000};

bool permitted = false;

/// 0: no asynchronous sends.
std::size_t asked_bytes() noexcept {
  const char* const text = std::getenv("CARIAMA_PRELOAD_ASYNC_SENDS");
  return text == nullptr ? 0 : static_cast<std::size_t>(std::max(std::atoll(text), 0ll));
}

/// Whether processes of one user, which peers are, may read each other's memory here.
bool peers_may_read() noexcept {
  std::byte byte{};
  std::byte copy{};
  const iovec from{&byte, 1};
  const iovec into{&copy, 1};
  if (process_vm_readv(getpid(), &into, 1, &from, 1, 0) != 1) return false;
  if (prctl(PR_GET_DUMPABLE) != 1) return false;
  if (geteuid() == 0) return true;
  char scope = '0';
  const int file = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  static_cast<void>(pread(file, &scope, 1, 0));
  real().close(file);
  return scope == '0';
}

bool is_on_stack(const void* address) noexcept {
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return reinterpret_cast<std::uintptr_t>(address) - frame < kStack;
}

/// Whether all pages are there and of this process alone: nobody else writes into them.
bool is_private(const iovec& buffer) noexcept {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  constexpr std::uint64_t kFileOrShared = std::uint64_t{1} << 61;
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map < 0) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer.iov_base) / kPage;
  const auto end = (reinterpret_cast<std::uintptr_t>(buffer.iov_base) + buffer.iov_len - 1) / kPage;
  bool all = true;
  std::array<std::uint64_t, 512> pages;
  for (std::uintptr_t at = begin; all && at <= end; at += pages.size()) {
    const std::size_t size = std::min(pages.size(), end + 1 - at) * sizeof pages[0];
    all = pread(map, pages.data(), size, static_cast<off_t>(at * sizeof pages[0])) ==
          static_cast<ssize_t>(size);
    for (std::size_t i = 0; all && i < size / sizeof pages[0]; ++i) {
      all = (pages[i] & (kPresent | kFileOrShared)) == kPresent;
    }
  }
  real().close(map);
  return all;
}

bool has_time_limit(int fd) noexcept {
  timeval limit{};
  socklen_t length = sizeof limit;
  return getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &length) != 0 || limit.tv_sec != 0 ||
         limit.tv_usec != 0;
}

}  // namespace

void permit_asynchronous_sends() noexcept { permitted = true; }

bool sends_asynchronously() noexcept {
  if (!permitted) return false;
  static const bool possible =
      asked_bytes() != 0 && peers_may_read() && streams::may_send_asynchronously();
  return possible;
}

streams::StreamOptions stream_options(std::uint32_t ring) noexcept {
  if (!sends_asynchronously()) return {.ring = ring};
  return {.flow = streams::FlowControl::kZeroCopy, .ring = ring, .asynchronous = true};
}

std::size_t leaves_from(int fd, std::span<const iovec> buffers, int flags) noexcept {
  if (!permitted) return SIZE_MAX;
  const HoldSignals hold;
  if (!sends_asynchronously()) return SIZE_MAX;
  static const std::size_t from = std::max(asked_bytes(), streams::kAsynchronousFrom);
  bool any = false;
  for (const iovec& buffer : buffers) {
    if (buffer.iov_len < from) continue;
    if (is_on_stack(buffer.iov_base) || !is_private(buffer)) return SIZE_MAX;
    any = true;
  }
  if (!any || (flags & MSG_DONTWAIT) != 0 || is_non_blocking(fd) || has_time_limit(fd)) {
    return SIZE_MAX;
  }
  // The bytes before the first whole page are copied, and the rest counts as before.
  return from - kPage;
}

void settle_before_close(streams::Stream& stream, int fd) noexcept {
  if (!sends_asynchronously()) return;
  linger choice{};
  socklen_t length = sizeof choice;
  End end;
  if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &choice, &length) == 0 && choice.l_onoff != 0) {
    const timespec time{choice.l_linger, 0};
    end = end_after(&time);
  }
  while (!over(end) && stream.settle(kWait) == streams::Status::kTimeout) take_signals();
}

void settle_before_exit() noexcept {
  if (!sends_asynchronously()) return;
  for_each_entry([](int fd, const Entry&) {
    for (;;) {
      {
        const auto connection = table().lock<Connection>(fd);
        if (!connection || connection->settled()) return;
      }
      nanosleep(&kNap, nullptr);
    }
  });
}

}  // namespace preload
