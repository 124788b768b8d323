// SPDX-License-Identifier: MIT
// Random streams of multicasts, with deaths at random moments; a checker compares what all members,
// the dead included, have delivered.
#include <cstdlib>
#include <thread>

#include "sst/support/multicast_job.hpp"
#include "support/catch.hpp"

using namespace sst;
using support::DeliveryLog;
using support::ForkJob;
using support::Member;
using support::MulticastNode;
using support::Random;
using support::require;

namespace {

/// What one random job is like.
struct Shape {
  std::uint32_t members;
  MulticastOptions options;
  std::uint64_t messages;
  std::string adversary;

  Shape(Random& random, Order order) {
    members = static_cast<std::uint32_t>(2 + random.below(4));
    options.order = order;
    options.slots = 4u << random.below(4);
    options.max_message = static_cast<std::uint32_t>(8 + random.size_up_to(1000));
    for (std::uint16_t i = 0; i < members; ++i) {
      if (!random.one_in(3)) options.senders.push_back({i});
    }
    if (options.senders.empty()) options.senders.push_back({0});
    messages = 50 + random.below(500);
    if (random.one_in(2)) adversary = "seed=" + std::to_string(1 + random.below(100'000));
  }
  bool sends(std::uint32_t rank) const {
    return std::any_of(options.senders.begin(), options.senders.end(),
                       [&](dsfabric::ProcessId sender) { return sender.value == rank; });
  }
  std::uint64_t deliveries(std::uint32_t rank) const {
    const bool own = sends(rank) && options.order == Order::kUnordered;
    return (options.senders.size() - own) * messages;
  }
  std::string text() const {
    return fmt::format("{} members, {} send {} messages of up to {} bytes, {} slots, adversary {}",
                       members, options.senders.size(), messages, options.max_message,
                       options.slots, adversary);
  }
};

void run_whole(const Shape& shape, std::uint64_t seed) {
  const DeliveryLog log(shape.members);
  ForkJob job(shape.members, [&](Member& member) {
    MulticastNode node(member, log, shape.options);
    Random random(seed + member.rank);
    if (shape.sends(member.rank)) node.send_all(shape.messages, shape.options.max_message, random);
    const std::uint64_t all = shape.deliveries(member.rank);
    node.evaluate_while([&] { return node.delivered() < all; }, "all are delivered");
    node.meet(0);
    support::require_equal(node.delivered(), all, "delivered");
  });
  REQUIRE(job.wait(std::chrono::seconds(60)) == "");
  REQUIRE(log.check_each_sender() == "");
  if (shape.options.order == Order::kByTurns) REQUIRE(log.check_same_order() == "");
}

void run_with_a_death(const Shape& shape, std::uint64_t seed, std::uint32_t victim,
                      std::chrono::microseconds moment) {
  const bool ordered = shape.options.order == Order::kByTurns;
  const DeliveryLog log(shape.members);
  ForkJob job(shape.members, [&](Member& member) {
    MulticastNode node(member, log, shape.options);
    Random random(seed + member.rank);
    member.memory.words[0]++;
    const MemberId dead{static_cast<std::uint16_t>(victim)};
    node.evaluate_while(
        [&] {
          while (node.sent < DeliveryLog::kMost / 8 && !random.one_in(16)) {
            const auto bytes =
                static_cast<std::uint32_t>(8 + random.below(shape.options.max_message - 7));
            if (node.try_send(bytes) != SendStatus::kAccepted) break;
          }
          return !node.multicast.gone(dead);
        },
        "the death is noticed");
    // The survivors are done when all of them know, and nothing comes any more.
    member.memory.words[1]++;
    node.evaluate_while([&] { return member.memory.words[1] < shape.members - 1; }, "all know");
    if (!ordered) {
      node.evaluate_while([&] { return node.multicast.delivered_by_all() < node.multicast.sent(); },
                          "survivors deliver what survivors sent");
    }
    for (int i = 0; i < 50; ++i) node.multicast.evaluate();
    require(node.multicast.stopped() == ordered, "only an order ends");
    log.of(member.rank).received = node.multicast.table().mine(&MulticastRow::received);
    member.memory.words[2]++;
    node.evaluate_while([&] { return member.memory.words[2] < shape.members - 1; }, "all done");
  });
  REQUIRE(support::eventually([&] { return job.memory().words[0] == shape.members; }));
  std::this_thread::sleep_for(moment);
  job.kill(victim);
  REQUIRE(job.wait(std::chrono::seconds(60)) == std::to_string(victim) + ": signal 9\n");
  REQUIRE(log.check_each_sender() == "");
  if (!ordered) return;
  REQUIRE(log.check_same_order() == "");
  REQUIRE(log.check_uniform() == "");
}

}  // namespace

TEST_CASE("random_multicasts_deliver_everything_in_order") {
  const std::uint64_t seed = support::test_seed();
  Random random(seed);
  for (int round = 0; round < support::rounds(60); ++round) {
    const Shape shape(random, random.one_in(3) ? Order::kUnordered : Order::kByTurns);
    CAPTURE(seed, round, shape.text());
    setenv("CARIAMA_SHM_ADVERSARY", shape.adversary.c_str(), 1);
    run_whole(shape, seed + static_cast<std::uint64_t>(round));
    unsetenv("CARIAMA_SHM_ADVERSARY");
  }
}

TEST_CASE("survivors_of_a_death_have_delivered_the_same_in_the_same_order") {
  const std::uint64_t seed = support::test_seed();
  Random random(seed);
  for (int round = 0; round < support::rounds(40); ++round) {
    const Shape shape(random, random.one_in(3) ? Order::kUnordered : Order::kByTurns);
    const auto victim = static_cast<std::uint32_t>(random.below(shape.members));
    const auto moment = std::chrono::microseconds(random.below(10'000));
    CAPTURE(seed, round, shape.text(), victim, moment.count());
    setenv("CARIAMA_SHM_ADVERSARY", shape.adversary.c_str(), 1);
    run_with_a_death(shape, seed + static_cast<std::uint64_t>(round), victim, moment);
    unsetenv("CARIAMA_SHM_ADVERSARY");
  }
}
