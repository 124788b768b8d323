// SPDX-License-Identifier: MIT
// What tests of global memory share: a process with a Space, whole values, and patience.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "memory/memory.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

namespace support {

inline constexpr memory::ReadMode kModes[] = {
    memory::ReadMode::kValidated, memory::ReadMode::kCached, memory::ReadMode::kSubscribed};

/// A process of a job whose main thread uses global memory; its service thread is a home.
struct MemoryNode {
  explicit MemoryNode(Member& member, std::size_t bytes = 1 << 20, std::uint32_t services = 1)
      : fabric(member.join(config(services))), space(fabric, {.bytes = bytes}) {}

  static dsfabric::Config config(std::uint32_t services) {
    dsfabric::Config config;
    config.threads = 1;
    config.service_threads = services;
    return config;
  }

  dsfabric::Fabric fabric;
  memory::Space space;
};

/// Fails unless the operation was done.
inline void require_done(memory::Status status, const std::string& what,
                         Where where = Where::current()) {
  if (status != memory::Status::kDone) fail(what + ": " + memory::to_string(status), where);
}
inline void require_status(memory::Status status, memory::Status wanted, const std::string& what,
                           Where where = Where::current()) {
  if (status == wanted) return;
  fail(what + ": " + memory::to_string(status) + ", not " + memory::to_string(wanted), where);
}

inline void meet(Member& member, MemoryNode& node, std::size_t word) {
  meet(member, node.fabric, word);
}

/// A pointer that one member gives to the others of the job.
template <class T>
memory::GlobalPtr<T> shared_pointer(MemoryNode& node, const std::string& name,
                                    const memory::GlobalPtr<T>* mine) {
  if (mine != nullptr) {
    node.fabric.publish(name, std::as_bytes(std::span(&mine->place(), 1)));
    return *mine;
  }
  std::optional<std::vector<std::byte>> found;
  require(eventually([&] { return (found = node.fabric.lookup(name)).has_value(); }), name);
  memory::Place place;
  std::memcpy(&place, found->data(), sizeof place);
  return memory::GlobalPtr<T>(place);
}

/// A value whose words are all the same, so that half of another one shows.
template <std::size_t kWords>
struct Whole {
  std::array<std::uint64_t, kWords> words;
  static Whole of(std::uint64_t value) noexcept {
    Whole whole;
    whole.words.fill(value);
    return whole;
  }
  std::uint64_t value(Where where = Where::current()) const {
    for (const std::uint64_t word : words) require_equal(word, words[0], "a word", where);
    return words[0];
  }
};

/// Runs `body` in `processes` processes; "" when all ended well.
inline std::string run_members(std::uint32_t processes, const ForkJob::Body& body) {
  ForkJob job(processes, body);
  return job.wait();
}

}  // namespace support
