// SPDX-License-Identifier: MIT
// Pointers that know their process, and the handle on "the same object over there".
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "dsfabric/ids.hpp"
#include "dsfabric/thread.hpp"

namespace dsfabric {

/// An object and the process it lives in. Trivially copyable: capture it, send it, store it. Only
/// its owner gets a pointer out of it. The object must outlive its use. Any thread, wait-free.
template <class T>
class GlobalPtr {
 public:
  /// Names no object.
  constexpr GlobalPtr() noexcept = default;
  /// Names an object of this process.
  GlobalPtr(const Fabric& fabric, T* object) noexcept
      : GlobalPtr(fabric.process(), reinterpret_cast<std::uint64_t>(object)) {}
  /// Names the object at an address of another process.
  GlobalPtr(ProcessId owner, std::uint64_t address) noexcept : address_(address), owner_(owner) {}

  /// Whether it names an object.
  explicit operator bool() const noexcept { return address_ != 0; }
  /// The process that the object lives in.
  ProcessId owner() const noexcept { return owner_; }
  /// The object, or nullptr when it lives elsewhere.
  T* get(const Fabric& here) const noexcept {
    return here.process() == owner_ ? reinterpret_cast<T*>(address_) : nullptr;
  }
  friend bool operator==(const GlobalPtr&, const GlobalPtr&) = default;

 private:
  std::uint64_t address_ = 0;
  ProcessId owner_{};
};

static_assert(std::is_trivially_copyable_v<GlobalPtr<int>> &&
              std::is_standard_layout_v<GlobalPtr<int>>);

/// "The same object on every thread": each worker names its own, and each can name that of any
/// other. Made by all workers (a collective).
///
///     Counter mine;
///     DistributedObject<Counter> counters(self, mine);
///     calls.call(next, [there = counters.on(next)](CallContext& call) {
///       ++there.get(call.fabric)->value;
///     });
///
/// The objects must live until the last call to them has run: end with a barrier. Any thread,
/// wait-free, once made.
template <class T>
class DistributedObject {
 public:
  /// A collective: all workers give their object. Throws PeerFailed. Setup only.
  DistributedObject(Thread& self, T& mine)
      : fabric_(self.fabric()), all_(self.all_gather(reinterpret_cast<std::uint64_t>(&mine))) {
    // The first to have them may call at once, and a handler may ask the DistributedObject of its
    // thread.
    self.barrier();
  }

  /// The object of a worker. Any thread, wait-free.
  GlobalPtr<T> on(ThreadId thread) const noexcept {
    return {thread.process, all_[fabric_.rank_of(thread)]};
  }

 private:
  Fabric& fabric_;
  std::vector<std::uint64_t> all_;
};

}  // namespace dsfabric
