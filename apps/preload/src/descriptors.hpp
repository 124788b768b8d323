// SPDX-License-Identifier: MIT
// Entries of the table as descriptors are made, copied and closed.
#pragma once

#include "descriptor_table.hpp"
#include "entry.hpp"

namespace preload {

/// A listening socket whose port was announced.
class Listening : public Entry {
 public:
  static constexpr Kind kKind = Kind::kListening;
  Listening() noexcept : Entry(kKind) {}
  /// See `announce`.
  int presence = -1;
};

// Any thread. They forget what stood at a descriptor before: it was closed on another way.

/// A new TCP connection that may get a stream, to another host or not.
void enter_connection(int fd, bool connected_here, bool other_host = false) noexcept;
/// A socket that listens, for what `announce` answered.
void enter_listening(int fd, int presence) noexcept;
/// An epoll instance.
void enter_epoll_set(int fd) noexcept;
/// `copy` means what `fd` means.
void enter_copy(int fd, int copy) noexcept;
/// Before `fd` is closed, by this process itself.
void leave(int fd) noexcept;

/// The process will have no stream, and has none: the kernel has all that it looks at alone, epoll
/// instances from their next wait on. Any thread.
void leave_all_to_kernel() noexcept;

/// Calls `visit(fd, entry)` for every descriptor that has an entry.
template <class Visit>
void for_each_entry(Visit visit) {
  const auto end = static_cast<int>(table().end());
  for (int fd = 0; fd < end; ++fd) {
    if (Entry* const entry = table().find(fd); entry != nullptr) visit(fd, *entry);
  }
}

}  // namespace preload
