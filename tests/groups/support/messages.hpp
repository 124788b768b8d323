// SPDX-License-Identifier: MIT
// Messages whose every byte can be checked, and who takes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "dtutils/wait.hpp"
#include "groups/groups.hpp"
#include "support/require.hpp"

namespace support {

inline std::vector<dsfabric::ThreadId> all_workers(dsfabric::Thread& self) {
  std::vector<dsfabric::ThreadId> all;
  for (std::uint32_t rank = 0; rank < self.fabric().total_threads(); ++rank) {
    all.push_back(self.fabric().thread_of_rank(rank));
  }
  return all;
}

/// Another byte at each place, another row of bytes for each salt.
inline std::byte byte_of(std::uint64_t at, std::uint64_t salt) {
  return static_cast<std::byte>((at + salt * 977) * 0x9e3779b97f4a7c15 >> 56);
}

/// Registered memory of at least that many bytes, filled.
inline dtutils::RDMAMemory message(dsfabric::Group& group, std::uint64_t bytes,
                                   std::uint64_t salt) {
  dtutils::RDMAMemory memory =
      group.worker().fabric().general_allocator().allocate(bytes == 0 ? 1 : bytes);
  for (std::uint64_t at = 0; at < bytes; ++at) memory.data()[at] = byte_of(at, salt);
  return memory;
}

/// Checks what arrives.
struct Inbox {
  /// By root, the salt of its next message.
  std::map<std::uint32_t, std::uint64_t> expected;
  std::uint64_t received = 0;
  /// Of the last message.
  dtutils::RDMAMemory memory;

  groups::LargeMulticastUpcalls upcalls() {
    return {.received = [this](std::uint32_t root, dtutils::RDMAMemory from, std::uint64_t bytes) {
      require(expected.contains(root), "a message of this root is expected");
      for (std::uint64_t at = 0; at < bytes; ++at) {
        require(from.data()[at] == byte_of(at, expected[root]), "the bytes are those sent");
      }
      memory = std::move(from);
      ++received;
    }};
  }
};

/// Makes progress until `done`, which is asked before each round, or fails in time.
inline void progress_until(dsfabric::Group& group, groups::LargeMulticast& multicast,
                           const std::function<bool()>& done) {
  serve_until(group.worker(), [&] {
    if (done()) return true;
    for (int i = 0; i < 64 && multicast.progress(); ++i) {
    }
    return done();
  });
}

}  // namespace support
