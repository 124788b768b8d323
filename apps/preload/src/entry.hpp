// SPDX-License-Identifier: MIT
// What stands behind a descriptor of the program that this library looks at.
#pragma once

#include <cstdint>

#include "signals.hpp"

namespace preload {

/// A connection, a listening socket, or an epoll instance. Entries are used again but never freed:
/// whoever found one in the table of descriptors may lock it, and then looks again whether it
/// still stands there.
class Entry {
 public:
  /// Which of the derived classes it is.
  enum class Kind : std::uint8_t { kConnection, kListening, kEpollSet };

  explicit Entry(Kind kind) noexcept : kind_(kind) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  Kind kind() const noexcept { return kind_; }

  /// Guards all that the entry holds.
  Mutex mutex;
  /// Descriptors of this process that mean it: more than one after dup(2).
  unsigned descriptors = 0;

 protected:
  ~Entry() = default;

 private:
  const Kind kind_;
};

}  // namespace preload
