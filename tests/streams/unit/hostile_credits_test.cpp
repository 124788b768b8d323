// SPDX-License-Identifier: MIT
// A peer that sends messages as no side with credits does: the stream breaks, and nothing else.
#include <vector>

#include "credits.hpp"
#include "dtutils/device.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"
#include "support/require.hpp"

using namespace streams;
using namespace support;

namespace {

/// Immediate data of a message of bytes, and of one that gives so many credits back.
constexpr std::uint32_t kBytesMessage = 0;
constexpr std::uint32_t return_message(std::uint32_t credits) { return 1u << 30 | credits; }

/// A stream with credits, and a peer whose messages the test sends by hand.
struct CreditSides {
  CreditSides() {
    here.meet(peer.introduction());
    peer.meet(here.introduction());
  }
  /// Waits until it is done: it has come then.
  void send(std::uint32_t immediate) {
    dtutils::QueuePair& pair = peer.link().pair();
    REQUIRE(pair.post_send_with_immediate({}, immediate, 0, dtutils::kSignaled) ==
            dtutils::PostResult::kOk);
    ibv_wc completion;
    REQUIRE(pair.wait(completion, kPatience) == dtutils::QueuePair::Wait::kCompleted);
  }
  /// Whether the stream is broken after a look at what has come.
  bool breaks() {
    for (std::uint32_t looks = 0; looks < 2 * kCreditMessages; ++looks) {
      static_cast<void>(here.readable());
    }
    return here.link().broken();
  }

  std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain{*device};
  Credits here{domain};
  Credits peer{domain};
};

}  // namespace

TEST_CASE("a_peer_that_returns_credits_that_nobody_took_breaks_the_stream") {
  CreditSides sides;
  std::byte byte{};
  const iovec buffer{&byte, 1};
  for (int i = 0; i < 3; ++i) REQUIRE(sides.here.send({&buffer, 1}).bytes == 1);
  sides.send(return_message(2));
  CHECK_FALSE(sides.breaks());
  sides.send(return_message(2));
  CHECK(sides.breaks());
  CHECK(sides.here.send({&buffer, 1}).status == Status::kBrokenPipe);
}

TEST_CASE("a_peer_that_sends_without_credits_breaks_the_stream") {
  CreditSides sides;
  for (std::uint32_t i = 0; i < kCreditMessages; ++i) sides.send(kBytesMessage);
  CHECK_FALSE(sides.breaks());
  sides.send(kBytesMessage);
  CHECK(sides.breaks());
}
