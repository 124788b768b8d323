// SPDX-License-Identifier: MIT
// Pointers onto data that look like a segment, and segments that somebody wrote over: what reads
// and locks them ends, with an error that says so.
#include <array>
#include <cstdlib>

#include "dsfabric/support/fabric_job.hpp"
#include "layout.hpp"
#include "memory/support/memory_job.hpp"
#include "support/error_text.hpp"

using namespace memory;
using namespace support;
using detail::kHeader;
using detail::kLine;

namespace {

using Data = Whole<64>;
using Imitated = Whole<12>;

/// Bytes of a plain segment that look like a segment of `Imitated`, whose last word never agrees.
std::array<std::uint64_t, 64> imitation(bool lines, std::uint64_t lock) {
  std::array<std::uint64_t, 64> words{};
  const std::uint64_t version = detail::first_version(1);
  detail::Header header{};
  header.lock = lock;
  header.length = sizeof(Imitated);
  header.version = version;
  std::memcpy(words.data(), &header, sizeof header);
  const std::uint64_t first = kHeader / 8;
  if (!lines) {
    words[detail::back_at(sizeof(Imitated)) / 8] = version + 4;
  } else {
    for (std::uint64_t i = 0; i < detail::lines_of(sizeof(Imitated)); ++i) {
      words[first + i * 8] = version;
      words[first + i * 8 + detail::kBackAt / 8] = version + 4;
    }
  }
  return words;
}

/// A pointer to that, behind the header of the segment that has the data.
GlobalPtr<Imitated> pointer_into(Place place) {
  place.place += kHeader;
  place.tag = 1;
  place.length = sizeof(Imitated);
  place.type = type_number<Imitated>();
  place.first = 0;
  return GlobalPtr<Imitated>(place);
}

Status started(Client& client, const GlobalPtr<Imitated>& pointer, ReadMode mode) {
  Imitated seen{};
  Status told = Status::kAgain;
  client.start_read(pointer, std::span(&seen, 1), mode, [&told](Status status) { told = status; });
  require(eventually([&] {
            client.progress();
            client.space().fabric().progress();
            return told != Status::kAgain;
          }),
          "a started read ends");
  return told;
}

/// Writes over a word of `victim` through a pointer to its plain neighbour that lies about length.
void write_over(Client& client, const Place& victim, const GlobalPtr<std::uint64_t>& plain,
                std::uint64_t from_header, std::uint64_t value) {
  require(plain.place().offset() < victim.offset(), "the plain one comes first");
  Place lie = plain.place();
  lie.length = 1 << 19;
  lie.first = static_cast<std::uint32_t>(victim.offset() + from_header - lie.offset() - kHeader);
  require_status(client.write(GlobalPtr<std::uint64_t>(lie), value), Status::kOutOfRange,
                 "the length is wrong, but the word is written");
}

/// On a device that fetches bytes in order, and on one that does all that it may.
void in_both_layouts(const ForkJob::Body& body) {
  for (const char* adversary : {"", "5"}) {
    CAPTURE(adversary);
    setenv("CARIAMA_SHM_ADVERSARY", adversary, 1);
    CHECK(run_members(2, body) == "");
  }
  unsetenv("CARIAMA_SHM_ADVERSARY");
}

}  // namespace

TEST_CASE("whoever_reads_data_that_look_like_a_segment_is_told_that_it_is_none") {
  in_both_layouts([](Member& member) {
    MemoryNode node(member);
    if (member.rank == 0) {
      Client client(node.space);
      const bool lines = !node.fabric.device().reads_in_order;
      const auto p = client.allocate<std::array<std::uint64_t, 64>>(1, there({1}), Kind::kPlain);
      const auto lie = pointer_into(p.place());
      // Free; held by this process, which never unlocks; read by somebody who never ends.
      for (const std::uint64_t lock :
           {std::uint64_t{0}, detail::writer_word({0}), std::uint64_t{1} << 46}) {
        const auto data = imitation(lines, lock);
        require_done(client.write(p, data), "write");
        for (const ReadMode mode : kModes) {
          Imitated seen{};
          require_status(client.read(lie, seen, mode), Status::kForeign, "read");
          require_status(started(client, lie, mode), Status::kForeign, "started read");
        }
        const dtutils::RDMAMemory into = node.fabric.general_allocator().allocate(256);
        require_status(client.read(lie, into.local(0, sizeof(Imitated))), Status::kForeign,
                       "direct read");
        if (lock != 0) {
          const Status status = client.write(lie, Imitated::of(1), {.mode = WriteMode::kOneSided});
          require_status(status, Status::kForeign, "one-sided write");
        }
        std::array<std::uint64_t, 64> now{};
        require_done(client.read(p, now), "read");
        require(now == data, "the data are as they were");
      }
    }
    meet(member, node, 0);
  });
}

TEST_CASE("a_segment_that_was_written_over_is_damaged_until_it_is_written") {
  in_both_layouts([](Member& member) {
    MemoryNode node(member);
    if (member.rank == 0) {
      Client client(node.space);
      const bool lines = !node.fabric.device().reads_in_order;
      for (const ReadMode first : kModes) {
        const auto plain = client.allocate<std::uint64_t>(1, there({1}), Kind::kPlain);
        const auto p = client.allocate<Data>(1, there({1}));
        Subscription<Data> watched(client, p);
        Data seen{};
        require_done(client.write(p, Data::of(5)), "write");
        require_done(client.read(p, seen, first), "read");
        write_over(client, p.place(), plain,
                   lines ? kHeader + detail::kBackAt : detail::back_at(sizeof(Data)),
                   detail::first_version(1) + 400);
        require_status(client.read(p, seen), Status::kDamaged, "read");
        for (const ReadMode mode : kModes) {
          require_status(client.read(p, seen, mode), Status::kDamaged, "read");
        }
        require_status(watched.read(seen), Status::kDamaged, "subscription");
        require_done(client.write(p, Data::of(6)), "write of the whole");
        for (const ReadMode mode : kModes) {
          require_done(client.read(p, seen, mode), "read");
          require_equal(seen.value(), 6u, "value");
        }
        require_done(watched.read(seen), "subscription");
        require_equal(seen.value(), 6u, "value");
      }
    }
    meet(member, node, 0);
  });
}

TEST_CASE("a_handler_that_reads_in_vain_throws") {
  CHECK(run_members(2, [](Member& member) {
          dsfabric::Config config;
          config.threads = 1;
          config.service_threads = 1;
          dsfabric::Fabric fabric = member.join(config);
          Space space(fabric, {.bytes = 1 << 20});
          fabric.run([&](dsfabric::Thread& self) {
            Client client(space);
            dsfabric::DistributedObject<Client> clients(self, client);
            const dsfabric::ThreadId other{{1}, 0};
            if (member.rank == 0) {
              const auto p =
                  client.allocate<std::array<std::uint64_t, 64>>(1, here(), Kind::kPlain);
              require_done(client.write(p, imitation(!fabric.device().reads_in_order, 0)), "write");
              dsfabric::SendChannel calls(fabric);
              const std::string text = error_text([&] {
                (void)calls
                    .call_return(other,
                                 [its = clients.on(other),
                                  lie = pointer_into(p.place())](dsfabric::CallContext& call) {
                                   Imitated seen{};
                                   return its.get(call.fabric)->read(lie, seen);
                                 })
                    .get();
              });
              require(text.find("in use for seconds") != std::string::npos, text);
            }
            self.barrier();
          });
        }) == "");
}
