// SPDX-License-Identifier: MIT
// What Client does, without types: compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "dtutils/memory_region.hpp"
#include "dtutils/synchronizer.hpp"
#include "memory/detail/hits.hpp"
#include "memory/global_ptr.hpp"
#include "memory/options.hpp"
#include "memory/status.hpp"

namespace memory {

class Space;

namespace detail {

class SubscriptionCore;
struct ClientState;

/// What is told of the end of an operation that was started.
class Completion {
 public:
  /// Tells nobody.
  Completion() noexcept = default;
  /// Runs a small callable with the status, or tells a Synchronizer.
  template <class Then>
  explicit Completion(Then& then) noexcept {
    if constexpr (std::is_same_v<std::remove_const_t<Then>, dtutils::Synchronizer>) {
      const auto tell = [to = &then](Status status) {
        status == Status::kDone ? to->decrement() : to->fail();
      };
      *this = Completion(tell);
    } else {
      using Kept = std::remove_const_t<Then>;
      static_assert(std::is_trivially_copyable_v<Kept> && sizeof(Kept) <= kBytes &&
                        alignof(Kept) <= alignof(std::max_align_t),
                    "cariama: what runs at the end of an operation on global memory is a trivially "
                    "copyable callable of at most 48 bytes");
      new (bytes_) Kept(then);
      run_ = [](const std::byte* bytes, Status status) {
        Kept kept(*std::launder(reinterpret_cast<const Kept*>(bytes)));
        kept(status);
      };
    }
  }
  /// Runs it.
  void operator()(Status status) const {
    if (run_ != nullptr) run_(bytes_, status);
  }

 private:
  static constexpr std::size_t kBytes = 48;
  void (*run_)(const std::byte*, Status) = nullptr;
  alignas(std::max_align_t) std::byte bytes_[kBytes]{};
};

/// See Client, which adds the types.
class ClientCore {
 public:
  ClientCore(Space& space, const ClientOptions& options);
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;
  ~ClientCore();

  Place allocate(std::size_t count, std::size_t each, std::uint32_t type, Placement placement,
                 Kind kind);
  Status free(const Place& place);
  Status read(const Place& place, void* into, std::size_t bytes, ReadMode mode) {
    if (mode == ReadMode::kSubscribed && hits_.read(place, into, bytes)) return Status::kDone;
    return read_checked(place, into, bytes, mode);
  }
  Status read_direct(const Place& place, dtutils::LocalBuffer into);
  Status write(const Place& place, const void* from, std::size_t bytes, WriteOptions options);
  Status atomic(const Place& place, bool compare, std::uint64_t compare_or_add, std::uint64_t swap,
                std::uint64_t& before);
  void start_read(Status known, const Place& place, void* into, std::size_t bytes, ReadMode mode,
                  const Completion& completion);
  void start_write(Status known, const Place& place, const void* from, std::size_t bytes,
                   WriteOptions options, const Completion& completion);
  void start_atomic(Status known, const Place& place, bool compare, std::uint64_t compare_or_add,
                    std::uint64_t swap, std::uint64_t& before, const Completion& completion);
  bool progress();
  void serve();
  std::size_t under_way() const noexcept;
  dtutils::RemoteMemoryLocator locate(const Place& place) const noexcept;
  const ClientCounters& counters() const noexcept { return hits_.counters; }

 private:
  friend class SubscriptionCore;
  Status read_checked(const Place& place, void* into, std::size_t bytes, ReadMode mode);

  std::unique_ptr<ClientState> state_;
  /// Of `state_`.
  Hits& hits_;
  Space& space_;
};

}  // namespace detail
}  // namespace memory
