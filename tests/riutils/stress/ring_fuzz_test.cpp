// SPDX-License-Identifier: MIT
// Bytes of a rogue peer in a ring: they are refused or run within their chunk, and nothing else.
#include <array>
#include <atomic>
#include <cstring>
#include <span>
#include <vector>

#include "dtutils/detail/memory_slot.hpp"
#include "ring/incoming_ring.hpp"
#include "ring/ring_limits.hpp"
#include "ring/ring_registry.hpp"
#include "riutils/support/ring_job.hpp"

using namespace dsfabric;
using namespace riutils;
using riutils::detail::Grant;
using riutils::detail::RingHeader;
using riutils::detail::RingKind;
using support::ForkJob;
using support::Member;
using support::require;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// All ten million take the sanitizers about a minute; a CI run shares its time with other tests.
constexpr std::uint64_t kInputs = 2'000'000;
#else
constexpr std::uint64_t kInputs = 10'000'000;
#endif

constexpr std::size_t kChunk = 512;

/// Where handlers may look; everything else is wrong.
struct Bounds {
  const std::byte* begin;
  const std::byte* end;
  std::uint64_t runs = 0;
  std::uint64_t wrong = 0;
};
Bounds& bounds() {
  static Bounds one;
  return one;
}

template <std::uint32_t kBytes>
void look(std::byte* payload, std::uint32_t bytes, CallContext&) {
  ++bounds().runs;
  bounds().wrong += bytes < kBytes || payload < bounds().begin || payload + bytes > bounds().end;
}
template <std::uint32_t kBytes>
void look_at_run(std::byte* end, std::uint32_t count, CallContext& call, std::uint32_t& done) {
  for (done = 0; done < count; ++done) {
    end -= riutils::detail::ring_stride(kBytes);
    look<kBytes>(end, kBytes, call);
  }
}
template <std::uint32_t kBytes>
constexpr dsfabric::detail::FunctionTable::Entry kEntry{&look<kBytes>, &look_at_run<kBytes>, kBytes,
                                                        false, false};

/// A ring over local memory, which a sanitizer guards at both ends.
class LocalRing {
 public:
  LocalRing()
      : memory_(2 * kChunk / 8), ring_({ProcessId{1}, 0}, RingKind::kCalls, {}, kFunctions) {
    std::vector<dtutils::RDMAMemory> chunks;
    for (std::size_t i = 0; i < 2; ++i) {
      chunks.emplace_back(begin() + i * kChunk, kChunk, 0, 0, dtutils::NumaZone{}, slots_[i]);
    }
    ring_.add(std::move(chunks));
  }
  std::byte* begin() { return reinterpret_cast<std::byte*>(memory_.data()); }
  IncomingRing& ring() { return ring_; }

 private:
  static constexpr std::array kFunctions{kEntry<1>, kEntry<8>, kEntry<12>, kEntry<64>};
  std::vector<std::uint64_t> memory_;
  std::array<dtutils::detail::MemorySlot, 2> slots_;
  IncomingRing ring_;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed | 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_;
};

/// A header that is right, nearly right, or nothing of the kind.
std::uint64_t some_word(Generator& random) {
  const std::uint64_t choice = random.next();
  const auto small = [&](std::uint64_t end) {
    return static_cast<std::uint32_t>(random.next() % end);
  };
  switch (choice % 8) {
    case 0:
      return random.next();
    case 1:
      return 0;
    case 2:
      return RingHeader{RingHeader::kControl, small(3), small(2)}.encode();
    case 3:
      return RingHeader{small(6), small(80), small(600)}.encode() ^ (1ull << small(64));
    case 4:
      return RingHeader{small(6), small(80), small(600)}.encode();
    default: {
      constexpr std::array<std::uint32_t, 4> kSizes{1, 8, 12, 64};
      const std::uint32_t function = small(4);
      return RingHeader{function, 1 + small(6), kSizes[function]}.encode();
    }
  }
}

}  // namespace

TEST_CASE("bytes_of_a_rogue_peer_never_leave_the_ring") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  Generator random(seed);
  alignas(8) std::byte no_fabric[8]{};
  CallContext call{reinterpret_cast<Fabric&>(no_fabric), {}, nullptr};
  std::uint64_t inputs = 0;
  std::uint64_t refused = 0;
  bounds() = {};
  while (inputs < kInputs) {
    LocalRing local;
    bounds().begin = local.begin();
    bounds().end = local.begin() + 2 * kChunk;
    // Until the first record that is refused, as in life.
    for (bool good = true; good && inputs < kInputs; ++inputs) {
      auto* const header_word = const_cast<std::uint64_t*>(local.ring().header_word());
      *header_word = some_word(random);
      if (random.next() % 4 == 0 &&
          header_word > reinterpret_cast<std::uint64_t*>(local.begin()) + 8) {
        header_word[-static_cast<std::ptrdiff_t>(random.next() % 8)] = some_word(random);
      }
      switch (local.ring().run(kBytesPerPoll, call)) {
        case IncomingRing::End::kCorrupt:
          good = false;
          break;
        case IncomingRing::End::kChunk:
          good = local.ring().leave_chunk();
          break;
        default:
          break;
      }
      refused += !good;
    }
  }
  CHECK(bounds().wrong == 0);
  // It would prove nothing if one of the two never happened.
  CHECK(bounds().runs > inputs / 10);
  CHECK(refused > inputs / 100);
}

TEST_CASE("header_that_arrives_byte_by_byte_is_waited_for") {
  alignas(8) std::byte no_fabric[8]{};
  CallContext call{reinterpret_cast<Fabric&>(no_fabric), {}, nullptr};
  LocalRing local;
  bounds() = {};
  bounds().begin = local.begin();
  bounds().end = local.begin() + 2 * kChunk;
  const std::uint64_t header = RingHeader{3, 1, 64}.encode();
  constexpr std::uint64_t kCalls = 4;
  for (std::uint64_t i = 1; i <= kCalls; ++i) {
    auto* const header_word = const_cast<std::uint64_t*>(local.ring().header_word());
    for (unsigned bytes = 1; bytes < 8; ++bytes) {
      *header_word = header & ((std::uint64_t{1} << 8 * bytes) - 1);
      CHECK(local.ring().run(kBytesPerPoll, call) == IncomingRing::End::kEmpty);
      CHECK(bounds().runs == i - 1);
    }
    *header_word = header;
    CHECK(local.ring().run(kBytesPerPoll, call) == IncomingRing::End::kEmpty);
    CHECK(bounds().runs == i);
  }
  CHECK(bounds().wrong == 0);
}

TEST_CASE("word_that_never_becomes_a_header_is_refused") {
  alignas(8) std::byte no_fabric[8]{};
  CallContext call{reinterpret_cast<Fabric&>(no_fabric), {}, nullptr};
  LocalRing local;
  *const_cast<std::uint64_t*>(local.ring().header_word()) = 4711;
  CHECK(local.ring().run(kBytesPerPoll, call) == IncomingRing::End::kEmpty);
  CHECK(support::eventually(
      [&] { return local.ring().run(kBytesPerPoll, call) == IncomingRing::End::kCorrupt; }));
}

TEST_CASE("run_of_calls_of_another_size_is_refused") {
  alignas(8) std::byte no_fabric[8]{};
  CallContext call{reinterpret_cast<Fabric&>(no_fabric), {}, nullptr};
  LocalRing local;
  bounds() = {};
  // One call may bring more than its callable; of several, none could tell where the next begins.
  *const_cast<std::uint64_t*>(local.ring().header_word()) = RingHeader{1, 2, 16}.encode();
  CHECK(local.ring().run(kBytesPerPoll, call) == IncomingRing::End::kCorrupt);
  CHECK(bounds().runs == 0);
}

TEST_CASE("corrupt_ring_fails_its_sender_and_nobody_else") {
  ForkJob job(3, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    const ProcessId rogue{0};
    try {
      fabric.run([&](Thread& self) {
        RDMAMessengerGlobal messenger(self);
        self.barrier();
        // A process that fails while others are still in the barrier ends it for them.
        static int through = 0;
        if (member.rank != 0) {
          require(messenger.call(ThreadId{rogue, 0}, [] { ++through; }), "to the rogue");
        } else {
          support::serve_until(self, [] { return through == 2; });
          // As a ring does it, but what it writes is no record.
          SendChannel services(fabric);
          ReturnSlot<Grant> slot(fabric);
          auto mine = fabric.general_allocator().allocate(64);
          const GrantRequest request{0, RingKind::kCalls, 4096, 2, mine.remote()};
          const auto sent = services.call_return(
              ThreadId::service_of(ProcessId{1}),
              [request](CallContext& call) {
                return RingRegistry::of(call.fabric)->grant(call, request);
              },
              slot);
          require(sent, "sent");
          const Grant grant = slot.get();
          require(grant.count == 2, "granted");
          std::memset(mine.data(), 0xa5, 64);
          require(
              self.transmitter(ProcessId{1}).write(mine.local(0, 8), grant.chunks[0].part(4088, 8)),
              "written");
          support::serve_until(self, [&] { return fabric.failures() != 0; });
          return;
        }
        if (member.rank == 1) support::serve_until(self, [&] { return fabric.failed(rogue); });
        // The others go on.
        static std::uint64_t answers = 0;
        const ThreadId other{ProcessId{static_cast<std::uint16_t>(3 - member.rank)}, 0};
        for (int i = 0; i < 1000; ++i) {
          require(messenger.call(other, [] { ++answers; }), "to the survivor");
        }
        support::serve_until(self, [] { return answers == 1000; });
        member.memory.processes[member.rank].result = answers;
        if (member.rank == 1) {
          require(fabric.failure_reason(rogue).find("ring") != std::string::npos,
                  fabric.failure_reason(rogue));
        }
      });
    } catch (const PeerFailed&) {
      // The end of run() is a collective.
    }
  });
  const std::string bad = job.wait(std::chrono::seconds(40));
  CAPTURE(bad);
  CHECK(job.memory().processes[1].result == 1000);
  CHECK(job.memory().processes[2].result == 1000);
  CHECK(bad.find("signal") == std::string::npos);
  CHECK(bad.find("still ran") == std::string::npos);
}
