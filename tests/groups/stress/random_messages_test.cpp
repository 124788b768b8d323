// SPDX-License-Identifier: MIT
// Random numbers of members, schedules, blocks and sizes; all roots send whenever they can.
#include <string>

#include "dsfabric/support/fabric_job.hpp"
#include "groups/groups.hpp"
#include "groups/support/messages.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace groups;
using dsfabric::Group;
using dsfabric::Thread;

namespace {

constexpr std::uint64_t kMessages = 25;
constexpr std::uint64_t kLongest = 60'000;

/// What a root sends as its message of that number: all members can tell.
std::uint64_t salt_of(std::uint32_t root, std::uint64_t number) { return root * 1000 + number; }
std::uint64_t bytes_of(std::uint64_t seed, std::uint32_t root, std::uint64_t number) {
  support::Random random(seed * 31 + salt_of(root, number));
  return random.one_in(10) ? 0 : random.size_up_to(kLongest);
}

void exchange(Thread& self, const LargeMulticastOptions& options, std::uint32_t members,
              std::uint64_t seed) {
  if (self.fabric().rank_of(self.id()) < members) {
    std::vector<dsfabric::ThreadId> names = support::all_workers(self);
    names.resize(members);
    Group group(self, names);
    std::vector<std::uint64_t> next(members);
    std::uint64_t received = 0;
    LargeMulticast multicast(
        group, options,
        {.received = [&](std::uint32_t root, dtutils::RDMAMemory memory, std::uint64_t bytes) {
          const std::uint64_t number = next[root]++;
          support::require_equal(bytes, bytes_of(seed, root, number), "bytes of the message");
          for (std::uint64_t at = 0; at < bytes; ++at) {
            support::require(memory.data()[at] == support::byte_of(at, salt_of(root, number)),
                             "the bytes are those sent");
          }
          ++received;
        }});
    std::uint64_t sent = 0;
    support::progress_until(group, multicast, [&] {
      if (!multicast.sending() && sent < kMessages) {
        const std::uint64_t bytes = bytes_of(seed, group.rank(), sent);
        multicast.send(support::message(group, bytes, salt_of(group.rank(), sent)), bytes);
        ++sent;
      }
      return sent == kMessages && received == kMessages * (members - 1) && !multicast.busy();
    });
    group.barrier();
  }
  self.barrier();
}

}  // namespace

TEST_CASE("random_messages_of_all_roots_arrive_whole_and_in_order") {
  const std::uint64_t seed = support::test_seed();
  for (int round = 0; round < support::rounds(12); ++round) {
    support::Random random(seed + static_cast<std::uint64_t>(round));
    const auto processes = static_cast<std::uint32_t>(2 + random.below(5));
    const auto threads = static_cast<std::uint32_t>(1 + random.below(2));
    const auto members = static_cast<std::uint32_t>(1 + random.below(processes * threads));
    const LargeMulticastOptions options{
        .max_message = kLongest,
        .block = static_cast<std::uint32_t>(64 + random.size_up_to(20'000)),
        .schedule = static_cast<Schedule>(random.below(4))};
    INFO("seed " << seed << ", round " << round << ": " << processes << " x " << threads << ", "
                 << members << " members, blocks of " << options.block << ", "
                 << to_string(options.schedule));
    const std::uint64_t adversary =
        round % 3 == 0 ? 0 : (seed + static_cast<std::uint64_t>(round)) | 1;
    CHECK(support::run_job(
              {.processes = processes, .threads = threads}, adversary, [&](Thread& self) {
                exchange(self, options, members, seed + static_cast<std::uint64_t>(round));
              }) == "");
  }
}
