// SPDX-License-Identifier: MIT
// Calls with a buffer: in the message, written to its destination, or read by it.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dsfabric/support/call_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/patterns.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::error_text;
using support::has;
using support::holds;
using support::in_every_mode;
using support::ledger;
using support::require;
using support::require_equal;
using support::serve_until;

namespace {

dtutils::RDMAMemory filled(Thread& self, std::size_t bytes, std::uint32_t seed) {
  auto memory = self.fabric().general_allocator().allocate(bytes);
  support::fill({memory.data(), bytes}, seed);
  return memory;
}

}  // namespace

TEST_CASE("buffer_travels_with_the_call") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (const std::uint32_t bytes : {0u, 1u, 7u, 8u, 100u, 255u, 1000u, 3900u}) {
      const auto memory = filled(self, bytes + 1, bytes);
      require(calls.call_buffer(
                  self.neighbour(1),
                  [bytes](CallContext&, const std::byte* data, std::uint32_t size) {
                    ledger().wrong += size != bytes || !holds({data, size}, bytes);
                    ++ledger().calls;
                  },
                  std::span<const std::byte>(memory.data(), bytes)),
              "sent");
    }
    serve_until(self, [] { return ledger().calls == 8; });
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "wrong buffers");
  });
}

TEST_CASE("call_larger_than_a_receive_buffer_is_refused_at_the_sender") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const std::vector<std::byte> large(self.fabric().max_message() + 1);
    has(error_text([&] {
          (void)calls.call_buffer(
              self.neighbour(1), [](CallContext&, std::byte*, std::uint32_t) {}, large);
        }),
        "receive_size");
    ReturnSlot<int> slot(self.fabric());
    require(calls.call_return(
                self.neighbour(1), [] { return 5; }, slot),
            "the next one is sent");
    require_equal(slot.get(), 5, "result");
    self.barrier();
  });
}

TEST_CASE("a_buffer_of_more_bytes_than_a_record_counts_is_refused_at_the_sender") {
  in_every_mode(1, 1, [](Thread& self) {
    constexpr std::size_t kMapped = std::size_t{UINT32_MAX} + 4096;
    void* const mapped =
        mmap(nullptr, kMapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(mapped != MAP_FAILED, "address space");
    SendChannel calls(self.fabric());
    // Their counts of 32 bits would be 16, and too near to the end for the head of a record.
    for (const std::size_t bytes : {std::size_t{UINT32_MAX} + 17, std::size_t{UINT32_MAX} - 8}) {
      const std::span buffer(static_cast<const std::byte*>(mapped), bytes);
      const auto ignore = [](CallContext&, std::byte*, std::uint32_t) {};
      has(error_text([&] { (void)calls.call_buffer(self.id(), ignore, buffer); }), "any record");
      has(error_text([&] { (void)calls.broadcast_buffer(ignore, buffer); }), "any record");
    }
    munmap(mapped, kMapped);
  });
}

TEST_CASE("buffer_is_written_to_its_destination_before_the_call_runs") {
  in_every_mode(2, 1, [](Thread& self) {
    static constexpr std::uint32_t kBytes = 100'000;
    SymmetricBuffer buffer(self, kBytes);
    SendChannel calls(self.fabric());
    for (std::uint32_t round = 0; round < 20; ++round) {
      const auto memory = filled(self, kBytes, round);
      dtutils::Synchronizer sent(1);
      const ThreadId to = self.neighbour(1);
      require(calls.call_buffer(
                  to,
                  [round](CallContext&, const std::byte* data, std::uint32_t bytes) {
                    ledger().wrong += bytes != kBytes || !holds({data, bytes}, round);
                    ++ledger().calls;
                  },
                  memory.local(), buffer.at(to), &sent),
              "sent");
      require(sent.wait() == dtutils::Synchronizer::Outcome::kDone, "transmitted");
      serve_until(self, [&] { return ledger().calls == round + 1; });
      self.barrier();
    }
    require_equal(ledger().wrong.load(), 0u, "wrong buffers");
  });
}

TEST_CASE("buffer_is_read_by_the_destination_or_a_service_thread") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ReturnSlot<void> executed(self.fabric());
    const ThreadId to = self.neighbour(1);
    const auto check = [to](CallContext& call, const std::byte* data, std::uint32_t bytes) {
      const bool here = call.worker != nullptr && call.worker->id() == to;
      ledger().wrong += !here || call.source.process == to.process || !holds({data, bytes}, 3);
      ledger().sum += bytes;
    };
    std::uint64_t sum = 0;
    for (const std::uint32_t bytes : {1u, 4000u, 300'000u}) {
      const auto memory = filled(self, bytes, 3);
      sum += 2 * memory.size();
      require(calls.call_buffer(to, check, memory, executed), "sent");
      executed.get();
      require(calls.call_buffer(to, check, memory, executed, ReadOn::kServiceThread), "sent");
      executed.get();
    }
    self.barrier();
    require_equal(ledger().sum.load(), sum, "bytes read");
    require_equal(ledger().wrong.load(), 0u, "wrong buffers");
  });
}
