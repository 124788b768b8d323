// SPDX-License-Identifier: MIT
// What a process does for the segments that live in it: the requests of others, locks, deaths.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dtutils/rdma_memory.hpp"
#include "memory/options.hpp"
#include "memory/status.hpp"
#include "segment.hpp"
#include "slots.hpp"

namespace memory::detail {

/// What every request is answered with.
struct Answer {
  /// A place, a version, or the value before an atomic.
  std::uint64_t value = 0;
  Status status = Status::kDone;
  /// Travels, so it is of the same bytes in each run.
  std::uint8_t unused[3] = {};
  /// Of a new segment.
  std::uint32_t generation = 0;
};

/// A word in the memory of a subscriber, where versions of one segment go.
struct Subscriber {
  std::uint64_t address;
  std::uint32_t rkey;
  std::uint16_t process;
  friend bool operator==(const Subscriber&, const Subscriber&) = default;
};

/// Data of a request: here, or in registered memory of the process that asks.
struct Payload {
  const void* bytes = nullptr;
  dtutils::RemoteMemoryLocator remote{};
};

/// The home. Requests never wait for other processes: where a lock is held, they answer kAgain, and
/// who asked asks again. They wait for the device only, when versions go to subscribers and when
/// they fetch long data. Any thread, several at a time; an exclusive lock of a segment is held
/// by one of them at a time.
class Home {
 public:
  /// Throws Error when there is no memory.
  Home(dsfabric::Fabric& fabric, const SpaceOptions& options, bool lines);

  Answer allocate(std::uint32_t zone, std::uint64_t length, std::uint32_t type, Kind kind);
  Answer free(const Place& place);
  Answer write(const Place& place, std::uint64_t bytes, const Payload& payload,
               dsfabric::ProcessId source);
  Answer atomic(const Place& place, bool compare, std::uint64_t compare_or_add, std::uint64_t swap);
  Answer subscribe(const Place& place, const Subscriber& subscriber);
  Answer unsubscribe(const Place& place, const Subscriber& subscriber);
  /// A write that comes after what `clock`, one count a process, has counted.
  Answer causal_write(const Place& place, std::uint64_t bytes, const std::uint64_t* clock,
                      const void* data, dsfabric::ProcessId source);

  /// kDone when there is such a segment. When nobody writes it and its words are not those of one
  /// version, somebody has written over them: it is damaged then, and readers need not wait.
  Answer examine(const Place& place);

  /// Takes the locks and subscriptions of a process whose connections are cut.
  void repair_after(dsfabric::ProcessId dead) noexcept;
  /// The reader bits of a process.
  static std::uint64_t readers_of(dsfabric::ProcessId process, std::uint32_t processes) noexcept;

  dsfabric::Fabric& fabric() noexcept { return fabric_; }
  const std::vector<dtutils::RDMAMemory>& zones() const noexcept { return memory_; }
  std::uint64_t bytes_in_use() const;
  std::uint64_t segments() const;

 private:
  /// An exclusive lock, while it lives.
  class Locked;

  std::optional<Segment> find(const Place& place, Status& status) const noexcept;
  bool lock(std::uint64_t* word, std::uint32_t zone, std::uint64_t& before) noexcept;
  std::uint64_t add(std::uint64_t* word, std::uint32_t zone, std::uint64_t addend) noexcept;
  std::uint64_t swap_if(std::uint64_t* word, std::uint32_t zone, std::uint64_t expected,
                        std::uint64_t desired) noexcept;
  void tell_subscribers(const Place& place, std::uint64_t version) noexcept;
  void push(const std::vector<Subscriber>& to, std::uint64_t version) noexcept;
  Status write_locked(const Place& place, const Segment& segment, std::uint64_t lock,
                      std::uint64_t bytes, const void* data) noexcept;

  dsfabric::Fabric& fabric_;
  bool lines_;
  /// The device's atomics and those of this processor do not know of each other otherwise.
  bool processor_atomics_;
  std::vector<dtutils::RDMAMemory> memory_;

  /// For all of these but Slots::size_at.
  mutable std::mutex slots_mutex_;
  std::vector<Slots> slots_;
  std::uint64_t in_use_ = 0;
  std::uint64_t segments_ = 0;

  std::mutex subscribers_mutex_;
  std::unordered_map<std::uint64_t, std::vector<Subscriber>> subscribers_;

  std::mutex causal_mutex_;
  /// Causal requests of each process that were executed here.
  std::vector<std::uint64_t> executed_;
};

}  // namespace memory::detail
