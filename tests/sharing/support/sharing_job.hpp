// SPDX-License-Identifier: MIT
// What tests of shared data share: a job whose workers have a Client each.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "sharing/sharing.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

namespace support {

/// Values of which all words are the same, so that half of another one shows.
struct Words {
  static constexpr std::size_t kCount = 24;
  std::uint64_t word[kCount]{};
  static Words of(std::uint64_t value) {
    Words words;
    for (std::uint64_t& each : words.word) each = value;
    return words;
  }
  bool whole() const {
    for (const std::uint64_t each : word) {
      if (each != word[0]) return false;
    }
    return true;
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(word)); }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(word)); }
};

/// A process of the job inside of run().
struct Sharer {
  Member& member;
  dsfabric::Thread& self;
  sharing::Space& space;
  sharing::Client& client;

  std::atomic<std::uint64_t>& word(std::size_t number) const { return member.memory.words[number]; }
  /// Serves until a word of the job's memory has come to a value.
  void await(std::size_t number, std::uint64_t value, const char* what) const {
    require(eventually([&] {
              self.progress();
              return word(number) >= value;
            }),
            what);
  }
  /// The data of that name, which the first process makes.
  sharing::Datum shared(const std::string& name, sharing::Model model, std::uint16_t home) const {
    if (member.rank == 0) {
      (void)client.allocate(name, sizeof(Words), model, memory::there({home}));
    }
    self.barrier();
    const auto found = client.find(name);
    require(found.has_value(), name);
    return *found;
  }
};

/// All have come to the end of their rounds, which takes some longer than others.
inline void member_done(const Sharer& here) {
  here.word(15)++;
  here.await(15, here.member.size, "all have ended");
}

inline sharing::SpaceOptions small_space() {
  sharing::SpaceOptions options;
  options.bytes = 1 << 20;
  options.data = 64;
  options.cached = 64;
  return options;
}

/// What a process of a job does: it joins, makes a Space, and runs `body` on one worker.
inline void as_sharer(Member& member, const std::function<void(Sharer&)>& body,
                      const sharing::SpaceOptions& options = small_space()) {
  dsfabric::Config config;
  config.threads = 1;
  dsfabric::Fabric fabric = member.join(config);
  sharing::Space space(fabric, options);
  fabric.run([&](dsfabric::Thread& self) {
    sharing::Client client(self, space);
    Sharer sharer{member, self, space, client};
    body(sharer);
  });
}

/// Runs `body` in a job; "" when all ended well.
inline std::string share(std::uint32_t processes, const std::function<void(Sharer&)>& body,
                         const sharing::SpaceOptions& options = small_space()) {
  ForkJob job(processes, [&](Member& member) {
    const auto to_the_end = [&](Sharer& sharer) {
      body(sharer);
      sharer.self.barrier();
    };
    as_sharer(member, to_the_end, options);
  });
  return job.wait();
}

inline void require_done(sharing::Status status, const std::string& what,
                         Where where = Where::current()) {
  if (status != sharing::Status::kDone) fail(what + ": " + sharing::to_string(status), where);
}
inline void require_status(sharing::Status status, sharing::Status wanted, const std::string& what,
                           Where where = Where::current()) {
  if (status == wanted) return;
  fail(what + ": " + sharing::to_string(status) + ", not " + sharing::to_string(wanted), where);
}

}  // namespace support
