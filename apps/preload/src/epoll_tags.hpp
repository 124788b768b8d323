// SPDX-License-Identifier: MIT
// What the kernel gives back with an event of an epoll instance.
#pragma once

#include <sys/epoll.h>

#include <cstdint>

namespace preload {

/// The number of the descriptor, and which of its sources has the event.
inline constexpr std::uint64_t kStreamSource = std::uint64_t{1} << 32;
/// None of the program's: the instance's own descriptor, which wakes its sleepers.
inline constexpr std::uint64_t kKickSource = std::uint64_t{1} << 33;

inline std::uint64_t tag_of(int fd) noexcept { return static_cast<std::uint32_t>(fd); }
inline int fd_of(std::uint64_t tag) noexcept { return static_cast<int>(tag & ~kStreamSource); }

inline epoll_event tagged(std::uint32_t events, std::uint64_t tag) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return event;
}

}  // namespace preload
