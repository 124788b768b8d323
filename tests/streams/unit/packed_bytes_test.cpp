// SPDX-License-Identifier: MIT
// Bytes that were packed, which the peer may fetch until it has them, and does not miss.
#include <atomic>
#include <map>

#include "dtutils/device.hpp"
#include "dtutils/wait.hpp"
#include "packetized.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"
#include "support/threads.hpp"

using namespace streams;
using namespace support;

namespace {

std::uint64_t packed_bytes(Board& board) {
  const std::uint64_t word = std::atomic_ref(board.published.packed).load();
  return word & ((1u << kPackedBits) - 1);
}

bool send_one_byte(Packetized& side) {
  std::byte byte{};
  const iovec buffer{&byte, 1};
  return side.send({&buffer, 1}).bytes == 1;
}

/// Two threads that begin each round at the same moment.
class Rounds {
 public:
  void meet(int round) {
    arrived_.fetch_add(1);
    dtutils::Deadline deadline(kPatience);
    for (int looks = 0; arrived_.load() < 2 * round; ++looks) {
      if (looks < 1000) continue;
      dtutils::give_way();
      require(!deadline.passed(), "the other thread does not come");
    }
  }

 private:
  std::atomic<int> arrived_{0};
};

}  // namespace

TEST_CASE("packed_bytes_stay_where_they_are_until_the_peer_has_them") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random(seed);
  const std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain(*device);
  Packetized here(domain, kRing);
  Packetized there(domain, kRing);
  here.meet(there.introduction());
  there.meet(here.introduction());
  Board& board = *reinterpret_cast<Board*>(here.link().data());
  const std::byte* const staging = here.link().data() + kStagingAt;
  // Places of bytes that were published, and what they were.
  std::map<std::uint64_t, std::byte> published;
  std::byte bytes[100];
  for (std::uint64_t sent = 0;;) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    const iovec buffer{bytes, 1 + random.below(sizeof bytes)};
    const std::size_t done = here.send({&buffer, 1}).bytes;
    const std::uint64_t packed = packed_bytes(board);
    for (std::size_t i = 0; i < done; ++i) {
      if (done - i <= packed) published[sent + i] = bytes[i];
    }
    sent += done;
    if (done != buffer.iov_len) break;
  }
  CHECK(published.size() > kPacked);
  std::size_t changed = 0;
  for (const auto& [place, byte] : published) changed += staging[place % kStaging] != byte;
  CHECK(changed == 0);
}

TEST_CASE("a_peer_that_asks_while_bytes_are_packed_sees_them_or_is_seen") {
  const int all = rounds(15'000);
  const std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain(*device);
  Packetized here(domain, kRing);
  Packetized there(domain, kRing);
  here.meet(there.introduction());
  there.meet(here.introduction());
  Board& board = *reinterpret_cast<Board*>(here.link().data());
  std::uint64_t sent = 0;
  for (; sent < 2 * kSendsBeforePacking; ++sent) REQUIRE(send_one_byte(here));
  REQUIRE(packed_bytes(board) != 0);
  Rounds begins;
  Rounds ends;
  std::uint64_t told = 0;
  std::uint64_t seen_packed = 0;
  Threads threads;
  // What a peer does that has received all it was told of, and asks for more.
  threads.start([&] {
    for (int round = 1; round <= all; ++round) {
      begins.meet(round);
      std::atomic_ref(board.feedback.seen).store(count_word(kSeenWord, told));
      seen_packed = packed_bytes(board);
      ends.meet(round);
    }
  });
  int packed = 0;
  int missed = 0;
  for (int round = 1; round <= all; ++round) {
    // All bytes are written, and the peer is told that more may be packed.
    std::atomic_ref(board.feedback.seen).store(count_word(kSeenWord, sent - packed_bytes(board)));
    require(send_one_byte(here), "there is no space");
    ++sent;
    require(packed_bytes(board) == 0, "bytes stay packed");
    std::atomic_ref(board.feedback.taken).store(count_word(kTakenWord, sent - 1));
    told = sent;
    begins.meet(round);
    // For some nanoseconds more or less, so that the two meet in all places.
    for (int i = round % 128; i > 0; --i) static_cast<void>(packed_bytes(board));
    const bool done = send_one_byte(here);
    ends.meet(round);
    require(done, "there is no space");
    ++sent;
    if (packed_bytes(board) != 0) {
      ++packed;
      missed += seen_packed == 0;
    }
  }
  threads.join();
  CAPTURE(packed);
  CHECK(missed == 0);
}
