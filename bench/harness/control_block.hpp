// SPDX-License-Identifier: MIT
// The shared memory by which the processes of a bench talk: commands, barrier, mailboxes, errors.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "bench/harness/constants.hpp"

namespace bench {

/// What process 0 tells the others to do next.
enum class Action : std::uint32_t { kPrepare, kCanary, kBatch, kFinish, kQuit };

/// Written by process 0 before it publishes `ControlBlock::sequence`, read by the others after it.
struct Command {
  Action action = Action::kQuit;
  std::uint32_t case_index = 0;
  std::uint32_t variant_index = 0;
  std::uint64_t iterations = 0;  // of a batch; round trips a chunk of the canary
};

/// A counter with a cache line of its own.
struct alignas(kCacheLine) CounterLine {
  std::atomic<std::uint64_t> value;
};

/// The part of the block that one process writes. The others only read it.
struct alignas(kCacheLine) ProcessBlock {
  CounterLine arrived;     // barriers that this process has reached
  CounterLine done;        // sequence number of the last command that it has finished
  CounterLine ping;        // its side of the cache-line round trip
  CounterLine waited;      // ns that it waited for its core in the last batch
  CounterLine core_speed;  // millionths of its best, when last measured
  std::array<CounterLine, kCountersPerProcess> counters;  // free for the bench
  std::atomic<std::uint32_t> mail_bytes;
  std::array<char, kMailboxBytes> mail;
  std::atomic<std::uint32_t> failed;  // 1 once `error` holds the reason
  std::array<char, kErrorTextBytes> error;
};

/// Lives in a SharedMemory, valid when zeroed.
struct ControlBlock {
  alignas(kCacheLine) std::atomic<std::uint32_t> sequence;  // commands so far; also the futex word
  alignas(kCacheLine) Command command;
  std::array<ProcessBlock, kMaxProcesses> process;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "must work between processes");
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "must work between processes");
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "is a futex word");
static_assert(sizeof(CounterLine) == kCacheLine);

}  // namespace bench
