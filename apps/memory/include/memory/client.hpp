// SPDX-License-Identifier: MIT
// What a thread uses global memory with: allocate, free, read, write, atomics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "dtutils/memory_region.hpp"
#include "dtutils/synchronizer.hpp"
#include "memory/detail/client_core.hpp"
#include "memory/global_ptr.hpp"
#include "memory/options.hpp"
#include "memory/space.hpp"
#include "memory/status.hpp"

namespace memory {

template <class T>
class Subscription;

/// Throws PeerFailed for kHomeFailed, Error for all else but kDone; `what` names the operation.
void require(Status status, const Place& place, std::string_view what, const Space& space);

/// One thread's use of a Space: its cache, its subscriptions and what it has under way.
///
///     memory::Client client(space);
///     const memory::GlobalPtr<Account> account = client.allocate<Account>(1, memory::spread());
///     client.require(client.write(account, Account{100}));
///     Account now;
///     client.require(client.read(account, now, memory::ReadMode::kCached));
///
/// Operations wait and serve incoming calls meanwhile; in a fiber they suspend the fiber. Those
/// that are calls (allocate, free, writes by call, atomics on versioned segments, the first
/// subscribed read) throw Error in a handler outside a fiber, as every wait for a result does.
/// The others may be used there, where they throw Error when a segment is in use for 2 seconds with
/// nothing new in it. They end when they are done, or when the home has failed
/// (Status::kHomeFailed).
///
/// Owner thread only; the Space outlives it. On a worker, Thread::progress drives what was started;
/// it is made on the thread that uses it. The destructor waits for what is under way.
class Client {
 public:
  /// Takes some registered memory. Throws Error when there is none. Setup only.
  explicit Client(Space& space, const ClientOptions& options = {})
      : space_(space), core_(space, options) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// The Space that it works on. Any thread, wait-free.
  Space& space() const noexcept { return space_; }

  // --- segments -------------------------------------------------------------------------------
  /// A segment of `count` values of zero bytes. Throws Error when the home has no memory left or
  /// the size is 0 or above 4 GiB, PeerFailed when the home is gone.
  template <class T>
  GlobalPtr<T> allocate(std::size_t count = 1, Placement placement = {},
                        Kind kind = Kind::kVersioned) {
    return GlobalPtr<T>(core_.allocate(count, sizeof(T), type_number<T>(), placement, kind));
  }
  /// The same without a type: `bytes` bytes.
  GlobalPtr<std::byte> allocate(std::size_t bytes, Placement placement,
                                Kind kind = Kind::kVersioned) {
    return allocate<std::byte>(bytes, placement, kind);
  }
  /// Ends the segment of any of its elements. From its return on no operation through an old
  /// pointer answers a value. kFreed when it was freed before.
  template <class T>
  Status free(const GlobalPtr<T>& pointer) {
    const Status bad = check<T>(pointer);
    return bad != Status::kDone ? bad : core_.free(pointer.place());
  }

  // --- reads ----------------------------------------------------------------------------------
  /// Reads one element. A plain segment is read by one RDMA read, and its generation by another
  /// that is posted with it, whatever the mode.
  template <class T>
  Status read(const GlobalPtr<T>& pointer, T& into, ReadMode mode = ReadMode::kValidated) {
    return read(pointer, std::span<T>(&into, 1), mode);
  }
  /// Reads into.size() elements, as one: they are from one version of the segment.
  template <class T>
  Status read(const GlobalPtr<T>& pointer, std::span<T> into,
              ReadMode mode = ReadMode::kValidated) {
    const Status bad = check<T>(pointer);
    return bad != Status::kDone ? bad
                                : core_.read(pointer.place(), into.data(), into.size_bytes(), mode);
  }
  /// A validated read straight into registered memory of this process, `into.length` bytes, without
  /// a copy where the device allows it (DeviceInfo::reads_in_order, or a plain segment). When it
  /// does not return kDone, the bytes there are undefined.
  template <class T>
  Status read(const GlobalPtr<T>& pointer, dtutils::LocalBuffer into) {
    const Status bad = check<T>(pointer);
    return bad != Status::kDone ? bad : core_.read_direct(pointer.place(), into);
  }

  // --- writes ---------------------------------------------------------------------------------
  /// Writes one element; when it returns, no read that begins later gives what was there before.
  template <class T>
  Status write(const GlobalPtr<T>& pointer, const T& value, WriteOptions options = {}) {
    return write(pointer, std::span<const T>(&value, 1), options);
  }
  /// Writes values.size() elements, as one.
  template <class T>
  Status write(const GlobalPtr<T>& pointer, std::span<const T> values, WriteOptions options = {}) {
    const Status bad = check<T>(pointer);
    return bad != Status::kDone
               ? bad
               : core_.write(pointer.place(), values.data(), values.size_bytes(), options);
  }

  // --- atomics, on 8 bytes at a multiple of 8 ---------------------------------------------------
  /// Adds; `before` is the value before. On a plain segment one-sided: then a segment that was
  /// freed gives kFreed, but the addition to what is there now is not undone.
  Status fetch_add(const GlobalPtr<std::uint64_t>& pointer, std::uint64_t addend,
                   std::uint64_t& before) {
    const Status bad = check<std::uint64_t>(pointer);
    return bad != Status::kDone ? bad : core_.atomic(pointer.place(), false, addend, 0, before);
  }
  /// Stores `desired` if the value is `expected`; `before` is the value before. As fetch_add.
  Status compare_and_swap(const GlobalPtr<std::uint64_t>& pointer, std::uint64_t expected,
                          std::uint64_t desired, std::uint64_t& before) {
    const Status bad = check<std::uint64_t>(pointer);
    return bad != Status::kDone ? bad
                                : core_.atomic(pointer.place(), true, expected, desired, before);
  }

  // --- asynchronous forms ---------------------------------------------------------------------
  // They return at once; progress() of this thread (or of this Client) carries them on. `into` and
  // `before` must live until then. `then(Status)` is any trivially copyable callable of at most 48
  // bytes; it runs in progress(), once, never before start_... has returned, and must not wait.
  // With a Synchronizer: one of its operations is decremented, or failed when the status is not
  // kDone. Operations that were started run in any order, except causal writes to one home. They
  // throw Error only when there is no registered memory left.
  /// As read.
  template <class T, class Then>
  void start_read(const GlobalPtr<T>& pointer, std::span<T> into, ReadMode mode, Then&& then) {
    core_.start_read(check<T>(pointer), pointer.place(), into.data(), into.size_bytes(), mode,
                     detail::Completion(then));
  }
  /// As write; the values are copied at once.
  template <class T, class Then>
  void start_write(const GlobalPtr<T>& pointer, std::span<const T> values, WriteOptions options,
                   Then&& then) {
    core_.start_write(check<T>(pointer), pointer.place(), values.data(), values.size_bytes(),
                      options, detail::Completion(then));
  }
  /// As fetch_add.
  template <class Then>
  void start_fetch_add(const GlobalPtr<std::uint64_t>& pointer, std::uint64_t addend,
                       std::uint64_t& before, Then&& then) {
    core_.start_atomic(check<std::uint64_t>(pointer), pointer.place(), false, addend, 0, before,
                       detail::Completion(then));
  }
  /// As compare_and_swap.
  template <class Then>
  void start_compare_and_swap(const GlobalPtr<std::uint64_t>& pointer, std::uint64_t expected,
                              std::uint64_t desired, std::uint64_t& before, Then&& then) {
    core_.start_atomic(check<std::uint64_t>(pointer), pointer.place(), true, expected, desired,
                       before, detail::Completion(then));
  }
  /// Carries on what was started; true when something ended. Thread::progress does it on workers.
  bool progress() { return core_.progress(); }
  /// Operations that were started and have not ended.
  std::size_t under_way() const noexcept { return core_.under_way(); }
  /// Waits until `done()`, which becomes true by progress of this Client, and serves meanwhile.
  template <class Done>
  void wait_until(Done&& done) {
    while (!done()) core_.serve();
  }

  // --- for layers above -----------------------------------------------------------------------
  /// Where the bytes that a pointer to a *plain* segment points to lie, to the end of the segment:
  /// for one-sided operations of one's own, on Fabric::transmitter(pointer.home()). Nothing checks
  /// the generation then. An empty locator when the pointer is none, or not plain.
  template <class T>
  dtutils::RemoteMemoryLocator locate(const GlobalPtr<T>& pointer) const noexcept {
    return check<T>(pointer) != Status::kDone ? dtutils::RemoteMemoryLocator{}
                                              : core_.locate(pointer.place());
  }
  /// Throws unless `status` is kDone: PeerFailed for kHomeFailed, else Error.
  template <class T = std::byte>
  void require(Status status, const GlobalPtr<T>& pointer = {},
               std::string_view what = "an operation on global memory") const {
    if (status != Status::kDone) memory::require(status, pointer.place(), what, space_);
  }
  /// Its counters.
  const ClientCounters& counters() const noexcept { return core_.counters(); }

 private:
  template <class T>
  friend class Subscription;
  template <class T>
  static Status check(const GlobalPtr<T>& pointer) noexcept {
    const Place& place = pointer.place();
    if (place.generation() == 0) return Status::kForeign;
    return place.type == type_number<T>() || place.type == 0 || type_number<T>() == 0
               ? Status::kDone
               : Status::kWrongType;
  }

  Space& space_;
  detail::ClientCore core_;
};

}  // namespace memory
