// SPDX-License-Identifier: MIT
// How a control segment comes to those who know its key, and to nobody else.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "shm/address.hpp"
#include "shm/descriptor.hpp"

namespace dtutils::shm {

/// A memory file that lies in no table of descriptors, where every process of the same user could
/// open it (/proc/<pid>/fd), but in a message that nobody receives: in the queue of a socket of
/// ours, from which copies are taken. Setup only, any thread.
class ParkedFile {
 public:
  /// Throws Error.
  explicit ParkedFile(Descriptor file);
  /// A copy of the descriptor. Throws Error.
  Descriptor open() const;
  /// Which descriptor the queue is: no secret, and of use to debuggers only.
  std::uint32_t number() const noexcept { return static_cast<std::uint32_t>(queue_.get()); }
  /// In a forked child.
  void close() noexcept { queue_ = Descriptor(); }

 private:
  Descriptor queue_;
};

/// Hands the memory file to every process of the same user that comes with the key, and has it
/// built with the same layout. One thread, which sleeps until somebody comes. It answers on a
/// socket of the abstract namespace (unix(7)), of which nothing can stay behind. Its name is known
/// in one network namespace; who comes from another one takes the parked file as a debugger may.
class Door {
 public:
  /// Throws Error.
  Door(std::uint64_t key, const ParkedFile& file);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door();

  /// Where to knock.
  std::uint32_t number() const noexcept { return file_.number(); }
  /// The thread, for who reaches for this process after its first one has ended.
  pid_t thread() const noexcept { return thread_id_.load(); }
  /// In a forked child: forget the thread, and let go of the socket.
  void abandon_in_child() noexcept;

 private:
  void serve();
  void answer(const Descriptor& visitor) const;

  const std::uint64_t key_;
  const ParkedFile& file_;
  Descriptor listener_;
  std::atomic<pid_t> thread_id_{0};
  /// Released in a forked child, where there is no thread that could be joined.
  std::unique_ptr<std::thread> thread_;
};

/// The memory file of the device at `address`. Throws Error that says why it is not given. Waits
/// for the peer's thread for at most kDoorSeconds.
Descriptor knock(const Address& address);
inline constexpr int kDoorSeconds = 5;

}  // namespace dtutils::shm
