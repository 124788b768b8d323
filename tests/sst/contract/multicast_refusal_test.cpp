// SPDX-License-Identifier: MIT
// Multicast: what it refuses, messages and options.
#include <functional>
#include <string>
#include <utility>

#include "sst/multicast.hpp"
#include "sst/support/multicast_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace sst;
using support::DeliveryLog;
using support::ForkJob;
using support::Member;
using support::MulticastNode;
using support::require;
using support::require_equal;

TEST_CASE("bad_messages_are_refused") {
  const DeliveryLog log(2);
  ForkJob job(2, [&](Member& member) {
    MulticastNode node(member, log, {.senders = {{0}}, .max_message = 40, .slots = 4});
    Multicast<MulticastNode::Log>& multicast = node.multicast;
    const auto status = [&](std::uint32_t bytes) { return multicast.try_reserve(bytes).status; };
    require_equal(multicast.max_message(), 40u, "limit");
    require(status(41) == SendStatus::kBadSize, "one byte more than the limit");
    require(status(0xffffffff) == SendStatus::kBadSize, "far more than the limit");
    require(status(0) == SendStatus::kBadSize, "no byte");
    require(!multicast.commit(), "nothing is reserved");
    if (member.rank == 1) {
      require(status(8) == SendStatus::kNoSender, "this member only receives");
    } else {
      require(status(40) == SendStatus::kAccepted, "as many as the limit");
      require(status(41) == SendStatus::kBadSize, "and then a bad one");
      require(!multicast.commit(), "takes the reservation back");
      require(status(40) == SendStatus::kAccepted, "once more");
      multicast.evaluate();
      require(!multicast.commit(), "evaluate() takes the reservation back");
      require_equal(multicast.sent(), 0u, "messages sent");
      require(node.try_send(40), "all is well afterwards");
    }
    node.evaluate_while([&] { return member.rank == 1 && node.delivered() == 0; }, "it arrives");
    node.meet(0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("options_that_cannot_be_are_refused_in_words") {
  ForkJob job(2, [](Member& member) {
    support::TableNode node(member);
    const auto text = [&](const MulticastOptions& options) {
      return support::error_text(
          [&] { Multicast multicast(node.group, options, [](const Message&) {}); });
    };
    const auto says = [&](const MulticastOptions& options, std::string_view what) {
      const std::string said = text(options);
      require(said.find(what) != std::string::npos, said);
    };
    says({.max_message = 0}, "messages of 0 bytes");
    says({.max_message = kMaxMessage + 1}, "messages of 65537 bytes");
    says({.slots = 48}, "rings of 48 slots");
    says({.slots = 2}, "rings of 2 slots");
    says({.slots = 2 * kMaxSlots}, "rings of 131072 slots");
    says({.members = {{0}, {1}, {0}}}, "process 0 is named twice");
    const std::string none =
        support::error_text([&] { TableGroup group(node.group.fabric(), {.threads = 0}); });
    require(none.find("0 threads") != std::string::npos, none);
    says({.senders = {{5}}}, "process 5 sends, but is no member");
    says({.senders = {{0}, {1}, {0}}}, "process 0 is named twice");
    const auto without_upcall = [&](auto deliver) {
      const std::string said = support::error_text(
          [&] { Multicast multicast(node.group, {.name = "mute"}, std::move(deliver)); });
      require(said.find("multicast mute: its upcall for deliveries is empty") != std::string::npos,
              said);
    };
    without_upcall(std::function<void(const Message&)>());
    without_upcall(static_cast<void (*)(const Message&)>(nullptr));
    says({.max_message = 8 + 8 * member.rank}, "other options");
    says({.senders = {{static_cast<std::uint16_t>(member.rank)}}}, "other options");
    says({.order = member.rank == 0 ? Order::kByTurns : Order::kUnordered}, "other options");
    member.memory.words[0]++;
    require(support::eventually([&] { return member.memory.words[0] == 2; }), "both");
  });
  CHECK(job.wait() == "");
}
