// SPDX-License-Identifier: MIT
// Large messages arrive whole at all members, whatever the schedule, the root and the number.
#include <stdexcept>
#include <string>
#include <utility>

#include "dsfabric/support/call_job.hpp"
#include "groups/groups.hpp"
#include "groups/support/messages.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace groups;
using dsfabric::Group;
using dsfabric::Thread;
using support::all_workers;
using support::in_every_mode;
using support::Inbox;
using support::require;
using support::require_equal;

namespace {

constexpr Schedule kAll[] = {Schedule::kSequential, Schedule::kChain, Schedule::kBinomialTree,
                             Schedule::kBinomialPipeline};

/// Each member sends one message of these bytes, all at the same time.
void all_send(Group& group, LargeMulticast& multicast, Inbox& inbox, std::uint64_t bytes,
              std::uint64_t salt) {
  const std::uint64_t before = inbox.received;
  dtutils::RDMAMemory memory = support::message(group, bytes, salt + group.rank());
  inbox.expected.clear();
  for (std::uint32_t root = 0; root < group.size(); ++root) inbox.expected[root] = salt + root;
  group.barrier();
  multicast.send(memory, bytes);
  support::progress_until(group, multicast, [&] {
    return inbox.received == before + group.size() - 1 && !multicast.busy();
  });
  group.barrier();
}

void says(const std::string& text, const char* part) {
  require(text.find(part) != std::string::npos, text);
}

}  // namespace

TEST_CASE("messages_of_all_roots_arrive_whole_with_every_schedule") {
  for (const std::uint32_t processes : {2u, 3u, 5u}) {
    in_every_mode(processes, 1, [](Thread& self) {
      Group group(self, all_workers(self));
      for (const Schedule schedule : kAll) {
        Inbox inbox;
        LargeMulticast multicast(
            group, {.max_message = 100'000, .block = 1000, .schedule = schedule}, inbox.upcalls());
        // Nothing, one byte, whole blocks, one more and one less, the limit; longer and shorter.
        for (const std::uint64_t bytes : {5000u, 0u, 1u, 1000u, 1001u, 999u, 100'000u, 2000u}) {
          all_send(group, multicast, inbox, bytes, bytes + 7);
        }
      }
      self.barrier();
    });
  }
}

TEST_CASE("several_members_may_live_in_one_process") {
  in_every_mode(2, 3, [](Thread& self) {
    Group group(self, all_workers(self));
    Inbox inbox;
    LargeMulticast multicast(group, {.block = 4096}, inbox.upcalls());
    for (std::uint64_t turn = 0; turn < 4; ++turn) {
      all_send(group, multicast, inbox, 40'000 * turn + 3, turn);
    }
    self.barrier();
  });
}

TEST_CASE("a_member_alone_has_sent_at_once") {
  in_every_mode(1, 1, [](Thread& self) {
    Group group(self, {self.id()});
    Inbox inbox;
    LargeMulticast multicast(group, {}, inbox.upcalls());
    multicast.send(support::message(group, 100, 1), 100);
    require(multicast.sending(), "until progress");
    require(multicast.progress(), "which does something");
    require(!multicast.sending() && !multicast.busy(), "nobody else is to get it");
  });
}

TEST_CASE("messages_land_in_the_memory_that_the_receiver_gives") {
  in_every_mode(3, 1, [](Thread& self) {
    Group group(self, all_workers(self));
    Inbox inbox;
    dtutils::RDMAMemory mine = self.allocator().allocate(1 << 16);
    const std::byte* const place = mine.data();
    bool ready = false;
    LargeMulticastUpcalls upcalls = inbox.upcalls();
    upcalls.buffer = [&](std::uint32_t root, std::uint64_t bytes) {
      require_equal(root, 1u, "root");
      require_equal(bytes, 50'000u, "bytes that were announced");
      // Not ready at first: the sender waits.
      if (!std::exchange(ready, true)) throw std::runtime_error("no memory yet");
      return std::move(mine);
    };
    LargeMulticast multicast(group, {.block = 3000}, upcalls);
    inbox.expected[1] = 5;
    if (group.rank() == 1) multicast.send(support::message(group, 50'000, 5), 50'000);
    std::uint32_t refusals = 0;
    support::serve_until(self, [&] {
      try {
        multicast.progress();
      } catch (const std::runtime_error& error) {
        require(std::string(error.what()) == "no memory yet", error.what());
        ++refusals;
      }
      return group.rank() == 1 ? !multicast.busy() : inbox.received == 1;
    });
    if (group.rank() != 1) {
      require_equal(refusals, 1u, "refusals");
      require(inbox.memory.data() == place, "it is in the memory that was given");
    }
    group.barrier();
  });
}

TEST_CASE("messages_may_be_sent_from_upcalls") {
  in_every_mode(2, 1, [](Thread& self) {
    Group group(self, all_workers(self));
    constexpr std::uint64_t kTurns = 9;
    std::uint64_t turn = 0;
    LargeMulticast* all = nullptr;
    // Each answers what it got; at once, unless it has not heard of the end of its last message.
    const auto send_if_due = [&] {
      if (turn == kTurns || turn % 2 != group.rank() || all->sending()) return;
      all->send(support::message(group, 3000 + turn, turn), 3000 + turn);
      ++turn;
    };
    LargeMulticast multicast(
        group, {.block = 500},
        {.received = [&](std::uint32_t root, dtutils::RDMAMemory memory, std::uint64_t bytes) {
          require_equal(root, turn % 2, "whose turn it is");
          require_equal(bytes, 3000 + turn, "bytes");
          require(memory.data()[0] == support::byte_of(0, turn), "byte");
          ++turn;
          send_if_due();
        }});
    all = &multicast;
    send_if_due();
    support::progress_until(group, multicast, [&] {
      send_if_due();
      return turn == kTurns && !multicast.busy();
    });
    group.barrier();
  });
}

TEST_CASE("what_cannot_be_sent_is_refused_in_words") {
  in_every_mode(2, 1, [](Thread& self) {
    Group group(self, all_workers(self));
    Inbox inbox;
    LargeMulticast multicast(group, {.max_message = 1000, .block = 100}, inbox.upcalls());
    const dtutils::RDMAMemory memory = support::message(group, 2000, 3);
    const dtutils::RDMAMemory small = memory.part(0, 10);
    const auto refusal = [&](const dtutils::RDMAMemory& from, std::uint64_t bytes) {
      return support::error_text([&] { multicast.send(from, bytes); });
    };
    says(refusal(memory, 1001), "1001 bytes is longer than the limit of 1000 bytes");
    says(refusal(small, 11), "11 bytes were to be sent out of 10 bytes");
    inbox.expected[0] = 3;
    if (group.rank() == 0) {
      multicast.send(memory, 1000);
      says(refusal(memory, 1), "the message before has not arrived everywhere");
    }
    support::progress_until(group, multicast, [&] {
      return group.rank() == 0 ? !multicast.busy() : inbox.received == 1;
    });
    group.barrier();
  });
}

TEST_CASE("too_little_memory_for_a_message_is_refused_in_words") {
  in_every_mode(2, 1, [](Thread& self) {
    Group group(self, all_workers(self));
    Inbox inbox;
    LargeMulticastUpcalls upcalls = inbox.upcalls();
    std::uint64_t given = 63;
    upcalls.buffer = [&](std::uint32_t, std::uint64_t) {
      return support::message(group, given, 0).part(0, given);
    };
    LargeMulticast multicast(group, {}, upcalls);
    inbox.expected[0] = 9;
    if (group.rank() == 0) multicast.send(support::message(group, 64, 9), 64);
    std::string refused;
    support::serve_until(self, [&] {
      try {
        multicast.progress();
      } catch (const dtutils::Error& error) {
        refused = error.what();
        given = 64;
      }
      return group.rank() == 0 ? !multicast.busy() : inbox.received == 1;
    });
    if (group.rank() == 1) says(refused, "64 bytes from member 0 got memory of 63 bytes");
    group.barrier();
  });
}

TEST_CASE("options_that_cannot_be_are_refused_in_words") {
  in_every_mode(3, 1, [](Thread& self) {
    Group group(self, all_workers(self));
    Inbox inbox;
    const auto refusal = [&](const LargeMulticastOptions& options, LargeMulticastUpcalls upcalls) {
      return support::error_text(
          [&] { LargeMulticast multicast(group, options, std::move(upcalls)); });
    };
    says(refusal({.block = 0}, inbox.upcalls()), "a block of 0 bytes cannot be");
    says(refusal({.block = 2u << 30}, inbox.upcalls()), "a block of 2147483648 bytes");
    says(refusal({.max_message = 1ull << 40, .block = 1}, inbox.upcalls()), "too many blocks");
    says(refusal({}, {}), "nobody takes what is received");
    LargeMulticastOptions options;
    if (group.rank() == 2) options.block = 4096;
    says(refusal(options, inbox.upcalls()), "members 0 and 2 have different options");
    options = {};
    if (group.rank() != 0) options.schedule = Schedule::kChain;
    says(refusal(options, inbox.upcalls()), "binomial pipeline and chain");
    self.barrier();
  });
}
