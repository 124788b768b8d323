// SPDX-License-Identifier: MIT
// One operation under way, with the memory that the device uses for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "dsfabric/return_slot.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/synchronizer.hpp"
#include "dtutils/transmitter.hpp"
#include "home.hpp"
#include "memory/detail/client_core.hpp"
#include "tries.hpp"

namespace memory::detail {

/// Used for one operation after the other. From the first post to the end of `arrived` the device
/// owns `scratch`; a call owns `slot` until its answer has come.
struct Operation {
  enum class Step : std::uint8_t {
    /// It has ended with `status`, and somebody is to be told.
    kEnded,
    /// A READ of a head, whose version is to be compared with that of the cache.
    kVersion,
    /// READs of data and versions.
    kRead,
    /// One-sided work on a plain segment, with a READ of its head behind it.
    kPlain,
    /// A call whose answer is awaited.
    kCall,
    /// A call that could not be made, or is to be made again.
    kCallAgain,
    /// Tries were in vain; what the home says of the segment comes into `status`.
    kExamined,
  };

  /// One post with `arrived` follows; the one before has ended. A store, where expect() is a locked
  /// instruction.
  void arm() noexcept { new (&arrived) dtutils::Synchronizer(1); }

  Step step = Step::kEnded;
  Status status = Status::kDone;
  Place place{};
  /// Where a read goes, or the value before an atomic.
  void* into = nullptr;
  std::uint64_t bytes = 0;
  /// The result of a plain operation is at the beginning of `scratch` and goes to `into`.
  bool brings = false;
  /// At its end, this word is free again.
  const std::uint64_t* frees_word = nullptr;
  /// A read of the whole segment, which goes into the cache.
  bool caches = false;
  /// The data of a read went straight to where they are wanted.
  bool direct = false;
  Completion completion{};
  /// Of a read that was started.
  Tries tries;
  /// Of a call.
  Resend resend;

  dtutils::RDMAMemory scratch;
  dtutils::Synchronizer arrived{0};
  dtutils::Transmitter* transmitter = nullptr;
  std::optional<dsfabric::ReturnSlot<Answer>> slot;
  /// Makes the call of an operation (again).
  void (*call)(ClientState& state, Operation& operation) = nullptr;
  /// Of that call.
  struct Request {
    bool compare = false;
    bool causal = false;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint32_t data_at = 0;
  } request;
};

}  // namespace memory::detail
