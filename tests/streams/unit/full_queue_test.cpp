// SPDX-License-Identifier: MIT
// A side whose send queue is full when its program makes a call, and which makes no other one.
#include <algorithm>
#include <vector>

#include "credits.hpp"
#include "dtutils/device.hpp"
#include "dtutils/wait.hpp"
#include "packetized.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace streams;
using namespace support;

namespace {

/// A device whose completions come later than the call that they belong to.
std::unique_ptr<dtutils::Device> open_late_device(std::uint64_t seed) {
  dtutils::DeviceOptions options;
  options.adversary = dtutils::Adversary{.seed = seed};
  return dtutils::open_device("shm", options);
}

/// Two sides in one process.
template <class Flow>
struct LateSides {
  template <class... Options>
  explicit LateSides(Options... options) : here(domain, options...), there(domain, options...) {
    here.meet(there.introduction());
    there.meet(here.introduction());
  }
  void send(std::size_t length) {
    const iovec buffer{bytes.data(), length};
    dtutils::Deadline deadline(kPatience);
    Result result = here.send({&buffer, 1});
    while (result.status == Status::kWouldBlock) {
      require(!deadline.passed(), "there is no space");
      result = here.send({&buffer, 1});
    }
    require(result.bytes == length, "less was sent");
  }
  void await_readable(std::size_t count) {
    dtutils::Deadline deadline(kPatience);
    while (there.readable() < count) require(!deadline.passed(), "bytes did not arrive");
  }
  static constexpr std::size_t kUnused = kStagingAt - 1;
  /// `there` has requests under way, as many as the queue takes.
  void fill_queue() {
    // Into memory that nobody uses.
    const auto from = there.link().region().local(kUnused, 1);
    const auto to = there.link().there(kUnused, 1);
    while (there.link().has_room(1)) {
      const unsigned flags = there.link().flags(false);
      require(there.link().count(there.link().pair().post_write(from, to, 0, flags), flags),
              "a request was refused");
    }
  }
  /// And takes so many bytes.
  void receive(std::size_t count) {
    fill_queue();
    const iovec buffer{bytes.data(), count};
    REQUIRE(there.receive({&buffer, 1}).bytes == count);
  }

  const std::uint64_t seed = test_seed();
  std::unique_ptr<dtutils::Device> device = open_late_device(seed);
  dtutils::ProtectionDomain domain{*device};
  Flow here;
  Flow there;
  std::vector<std::byte> bytes = std::vector<std::byte>(kRing);
};

/// As often as it takes to meet a device that is late.
constexpr int kRounds = 20;

using PacketizedSides = LateSides<Packetized>;

}  // namespace

TEST_CASE("a_receive_gives_space_back_while_the_queue_is_full") {
  const std::size_t left = GENERATE(std::size_t{0}, std::size_t{1000});
  for (int round = 0; round < kRounds; ++round) {
    PacketizedSides sides(kRing);
    CAPTURE(sides.seed, left, round);
    sides.send(kRing);
    sides.await_readable(kRing);
    sides.receive(kRing - left);
    dtutils::Deadline deadline(kPatience);
    while (!sides.here.send_ready()) require(!deadline.passed(), "no space comes back");
  }
}

TEST_CASE("credits_are_given_back_while_the_queue_is_full") {
  for (int round = 0; round < kRounds; ++round) {
    LateSides<Credits> sides;
    CAPTURE(sides.seed, round);
    for (std::uint32_t i = 0; i < kCreditMessages; ++i) sides.send(1);
    sides.await_readable(kCreditMessages);
    sides.receive(kCreditMessages);
    dtutils::Deadline deadline(kPatience);
    while (!sides.here.send_ready()) require(!deadline.passed(), "no credits come back");
  }
}

TEST_CASE("the_end_of_sending_leaves_while_the_queue_is_full") {
  for (int round = 0; round < kRounds; ++round) {
    PacketizedSides sides(kRing);
    CAPTURE(sides.seed, round);
    sides.fill_queue();
    sides.there.finish_sending(false);
    dtutils::Deadline deadline(kPatience);
    std::byte byte;
    const iovec buffer{&byte, 1};
    while (sides.here.receive({&buffer, 1}).status != Status::kEnd) {
      require(!deadline.passed(), "no end comes");
    }
  }
}

TEST_CASE("sharing_is_announced_while_the_queue_is_full") {
  for (int round = 0; round < kRounds; ++round) {
    PacketizedSides sides(kRing);
    CAPTURE(sides.seed, round);
    sides.fill_queue();
    sides.there.announce_sharing(true);
    dtutils::Deadline deadline(kPatience);
    Board& board = *reinterpret_cast<Board*>(sides.here.link().data());
    while ((flags_of(load(board.feedback.taken)) & kShared) == 0) {
      require(!deadline.passed(), "the peer does not know");
    }
  }
}
