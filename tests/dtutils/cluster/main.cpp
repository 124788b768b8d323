// SPDX-License-Identifier: MIT
// Two guests exchange verified writes and messages, until one of them is killed.
//
//     scripts/vm cluster --kill 1:S 2 build/dev/tests/dtutils_cluster
//
// The survivor says in words what became of its requests, and ends with status 0 if each of them
// ended in time. With the argument "--once" nobody is killed: both end after the verified part.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>

#include "rendezvous.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

namespace {

using namespace dtutils;
using namespace support;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint64_t kWrites = 64;
constexpr std::uint64_t kMessages = 64;
constexpr std::size_t kPiece = 1024;
constexpr std::uint64_t kInFlight = 16;
/// Two emulated machines answer late: 4.096 us * 2^17 = 0.5 s for each of 7 tries.
constexpr std::uint8_t kPatientAckTimeout = 17;
constexpr milliseconds kFailureLimit{15'000};
constexpr milliseconds kKillLimit{120'000};

struct Introduction {
  Endpoint endpoint;
  RemoteMemoryLocator memory;
};

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  require(value != nullptr, fmt::format("{} is not set: run this by scripts/vm cluster 2", name));
  return value;
}

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

SideOptions options() {
  SideOptions options;
  options.memory = 2 * kWrites * kPiece;
  options.queue_pair.ack_timeout = kPatientAckTimeout;
  return options;
}

/// The half of the memory that the peer writes to, and the half that is sent from.
std::size_t inbox(std::uint64_t i) { return i * kPiece; }
std::size_t outbox(std::uint64_t i) { return (kWrites + i) * kPiece; }

std::span<std::byte> piece(const Side& side, std::size_t offset) {
  return side.bytes().subspan(offset, kPiece);
}

/// Writes pieces into the peer's memory, as it does into this side's, and checks what arrived.
void exchange_writes(Side& side, const RemoteMemoryLocator& peer, cluster::Rendezvous& rendezvous,
                     std::uint32_t own_seed, std::uint32_t peer_seed) {
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    const auto seed = static_cast<std::uint32_t>(own_seed + i);
    fill(piece(side, outbox(i)), seed);
    must(side.qp.post_write(side.local(outbox(i), kPiece), peer.part(inbox(i), kPiece), i,
                            kSignaled));
  }
  for (std::uint64_t i = 0; i < kWrites; ++i) success(side.sends, i);
  rendezvous.meet();
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    require(holds(piece(side, inbox(i)), static_cast<std::uint32_t>(peer_seed + i)),
            fmt::format("write {} of the peer arrived as it was sent", i));
  }
}

/// Sends messages and checks those of the peer. All receives were posted before.
void exchange_messages(Side& side, cluster::Rendezvous& rendezvous, std::uint32_t own_seed,
                       std::uint32_t peer_seed) {
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    must(side.qp.post_receive(side.local(inbox(i), kPiece), i));
  }
  rendezvous.meet();
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    fill(piece(side, outbox(i)), static_cast<std::uint32_t>(own_seed + i));
    must(side.qp.post_send(side.local(outbox(i), kPiece), i, kSignaled));
  }
  for (std::uint64_t i = 0; i < kMessages; ++i) success(side.sends, i);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    require_equal(success(side.receives, i).byte_len, kPiece, "the length of a message");
    require(holds(piece(side, inbox(i)), static_cast<std::uint32_t>(peer_seed + i)),
            fmt::format("message {} of the peer arrived as it was sent", i));
  }
}

/// Keeps writes in flight until one fails; then all of them must end in time, and so must the
/// receives that wait for the peer.
void write_until_the_peer_is_gone(Side& side, const RemoteMemoryLocator& peer) {
  for (std::uint64_t i = 0; i < kInFlight; ++i) {
    must(side.qp.post_receive(side.local(inbox(i), kPiece), i));
  }
  const auto limit = Clock::now() + kKillLimit;
  auto last_success = Clock::now();
  std::uint64_t succeeded = 0;
  std::uint64_t pending = 0;
  std::uint64_t flushed = 0;
  std::string cause;
  while (cause.empty() || pending > 0) {
    if (cause.empty() && pending < kInFlight &&
        side.qp.post_write(side.local(outbox(0), kPiece), peer.part(inbox(0), kPiece), 0,
                           kSignaled) == PostResult::kOk) {
      ++pending;
      continue;
    }
    ibv_wc completion{};
    if (side.sends.poll({&completion, 1}) == 0) {
      require(Clock::now() < limit, "nobody was killed, or nobody noticed");
      std::this_thread::sleep_for(milliseconds(1));
      continue;
    }
    --pending;
    if (completion.status == IBV_WC_SUCCESS) {
      require(cause.empty(), "a write succeeded after one that failed");
      last_success = Clock::now();
      ++succeeded;
    } else if (cause.empty()) {
      require(completion.status == IBV_WC_RETRY_EXC_ERR, describe(completion));
      cause = describe(completion);
    } else {
      require(completion.status == IBV_WC_WR_FLUSH_ERR, describe(completion));
      ++flushed;
    }
  }
  const auto time = Clock::now() - last_success;
  for (std::uint64_t i = 0; i < kInFlight; ++i) {
    require(failure(side.receives, i).status == IBV_WC_WR_FLUSH_ERR, "receives are flushed");
  }
  say(fmt::format("after {} writes: {}", succeeded, cause));
  say(
      fmt::format("{:.1f} s after the last success all is over: 1 write failed, {} writes and {} "
                  "receives were flushed",
                  seconds(time), flushed, kInFlight));
  require(succeeded > 0, "the peer died in the stream, not before it");
  require(time < kFailureLimit, "the failure came in time");
}

void run(bool once) {
  const auto begin = Clock::now();
  const std::string rank = from_environment("CARIAMA_VM_RANK");
  require(from_environment("CARIAMA_VM_SIZE") == "2", "this is for two guests");
  const bool first = rank == "0";
  auto rendezvous = first ? cluster::Rendezvous::listen(from_environment("CARIAMA_VM_ADDRESS"))
                          : cluster::Rendezvous::connect(from_environment("CARIAMA_VM_PEER"));
  const auto device = open_device_under_test();
  Side side(*device, options());
  const auto peer = rendezvous.exchange(Introduction{side.qp.endpoint(), side.region.remote()});
  require(peer.endpoint.host != device->info().host, "the guests are two hosts");
  side.qp.connect(peer.endpoint);
  rendezvous.meet();
  say(fmt::format("{:.1f} s: connected; {}", seconds(Clock::now() - begin), device->info().reason));

  const std::uint32_t own_seed = first ? 1000 : 2000;
  const std::uint32_t peer_seed = first ? 2000 : 1000;
  exchange_writes(side, peer.memory, rendezvous, own_seed, peer_seed);
  rendezvous.meet();
  exchange_messages(side, rendezvous, own_seed + 500, peer_seed + 500);
  rendezvous.meet();
  say(fmt::format("{:.1f} s: verified {} writes and {} messages of the other guest",
                  seconds(Clock::now() - begin), kWrites, kMessages));
  if (!once) write_until_the_peer_is_gone(side, peer.memory);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 && std::string_view(argv[1]) == "--once");
  } catch (const std::exception& error) {
    say(fmt::format("FAILED: {}", error.what()));
    return 1;
  }
  return 0;
}
