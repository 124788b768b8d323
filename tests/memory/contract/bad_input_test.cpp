// SPDX-License-Identifier: MIT
// Bad pointers, ranges, types and options: each gets its own answer, and nothing is lost.
#include <cstdint>
#include <limits>
#include <vector>

#include "memory/support/memory_job.hpp"
#include "support/error_text.hpp"

using namespace memory;
using namespace support;

namespace {

template <class Call>
void refused(Call&& call, const std::string& what) {
  require(error_text(call) != "(no error)", what);
}

/// Every operation through a pointer whose length is not that of its segment says so.
void each_way_refuses(MemoryNode& node, Client& client, const GlobalPtr<std::uint64_t>& lie,
                      Status wanted) {
  std::uint64_t value = 1, before = 0;
  for (const ReadMode mode : kModes) {
    require_status(client.read(lie, value, mode), wanted, "read");
    Status told = Status::kAgain;
    client.start_read(lie, std::span(&value, 1), mode, [&told](Status status) { told = status; });
    client.wait_until([&] { return told != Status::kAgain; });
    require_status(told, wanted, "started read");
    std::vector<std::uint64_t> all(lie.size());
    require_status(client.read(lie, std::span(all), mode), wanted, "read to the end");
  }
  const dtutils::RDMAMemory into = node.fabric.general_allocator().allocate(lie.size() * 8);
  require_status(client.read(lie, into.local(0, static_cast<std::uint32_t>(lie.size() * 8))),
                 wanted, "direct read");
  if (lie.place().kind() == Kind::kPlain) return;
  for (const WriteMode mode : {WriteMode::kByCall, WriteMode::kOneSided}) {
    require_status(client.write(lie, value, {.mode = mode}), wanted, "write");
  }
  require_status(client.fetch_add(lie, 1, before), wanted, "add");
  refused([&] { Subscription<std::uint64_t> watched(client, lie); }, "subscription");
}

GlobalPtr<std::uint64_t> with(Place place, std::uint64_t length, Kind kind) {
  place.length = static_cast<std::uint32_t>(length);
  place.tag = place.generation() | static_cast<std::uint32_t>(kind) << 24;
  return GlobalPtr<std::uint64_t>(place);
}

}  // namespace

TEST_CASE("bad_pointers_are_told_apart") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space);
            const auto p = client.allocate<std::uint64_t>(8, there({1}));
            std::uint64_t value = 1, before = 0;
            std::array<std::uint64_t, 9> many{};
            const auto each_way = [&](const GlobalPtr<std::uint64_t>& bad, Status wanted) {
              for (const ReadMode mode : kModes) {
                require_status(client.read(bad, value, mode), wanted, "read");
              }
              for (const WriteMode mode : {WriteMode::kByCall, WriteMode::kOneSided}) {
                require_status(client.write(bad, value, {.mode = mode}), wanted, "write");
              }
              require_status(client.fetch_add(bad, 1, before), wanted, "add");
            };
            each_way({}, Status::kForeign);
            each_way(p + 8, Status::kOutOfRange);
            each_way(p + -1, Status::kOutOfRange);
            // As many bytes as a pointer counts, and more.
            constexpr std::int64_t kRound = std::int64_t{1} << 29;
            constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
            for (const std::int64_t far : {kRound, -kRound, kLowest, -(kLowest + 1)}) {
              each_way(p + far, Status::kOutOfRange);
            }
            each_way(p.part<std::uint64_t>(std::size_t{1} << 32), Status::kOutOfRange);
            each_way(p.part<std::uint64_t>(~std::size_t{7}), Status::kOutOfRange);
            require_status(client.read(p + 7 + -3 + -4, value), Status::kDone, "there and back");
            require_status(client.read(p, std::span<std::uint64_t>(many)), Status::kOutOfRange,
                           "a read across the end");
            require_status(client.fetch_add(p.part<std::uint64_t>(4), 1, before),
                           Status::kMisaligned, "a misaligned atomic");

            Place other = p.place();
            other.place |= std::uint64_t{77} << 48;
            each_way(GlobalPtr<std::uint64_t>(other), Status::kForeign);
            other = p.place();
            other.place |= 8;
            each_way(GlobalPtr<std::uint64_t>(other), Status::kForeign);
            other = p.place();
            other.place |= std::uint64_t{1} << 38;
            each_way(GlobalPtr<std::uint64_t>(other), Status::kForeign);
            other = p.place();
            other.place |= std::uint64_t{9} << 40;
            each_way(GlobalPtr<std::uint64_t>(other), Status::kForeign);
            // No segment begins there, which only the home knows.
            other = p.place();
            other.place += 512 << 10;
            require_status(client.write(GlobalPtr<std::uint64_t>(other), value), Status::kForeign,
                           "a write to no segment");
            require_status(client.read(GlobalPtr<std::uint64_t>(other), value), Status::kFreed,
                           "a read of no segment");

            const GlobalPtr<double> typed(p.place());
            double number = 0;
            require_status(client.read(typed, number), Status::kWrongType, "another type");
            require_status(client.write(typed, number), Status::kWrongType, "another type");
            require_status(client.free(typed), Status::kWrongType, "another type");
            other = p.place();
            other.type = type_number<double>();
            require_status(client.write(GlobalPtr<double>(other), number), Status::kWrongType,
                           "a pointer that lies about its type");

            require_done(client.read(p, value), "nothing is lost");
            require_equal(value, 0u, "value");
            require_done(client.free(p), "free");
            require_status(client.free(p), Status::kFreed, "free twice");
            each_way(p, Status::kFreed);
            // The place is used again, for a segment of another generation.
            const auto next = client.allocate<std::uint64_t>(8, there({1}));
            require_equal(next.place().place, p.place().place, "place");
            require(next != p, "another generation");
            require_done(client.write(next, std::uint64_t{5}), "write");
            each_way(p, Status::kFreed);
            require_done(client.read(next, value, ReadMode::kSubscribed), "read");
            each_way(p, Status::kFreed);
            require_done(client.write(next, std::uint64_t{6}), "write");
            for (const ReadMode mode : kModes) {
              require_done(client.read(next, value, mode), "read");
              require_equal(value, 6u, "value");
            }
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("pointers_with_a_wrong_length_or_kind_are_refused") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space);
            for (const std::uint64_t words : {6, 8, 100}) {
              const std::uint64_t bytes = words * 8;
              // Neighbours of one version, so that one's may be taken for the other's.
              const auto p = client.allocate<std::uint64_t>(words, there({1}));
              const auto q = client.allocate<std::uint64_t>(words, there({1}));
              const std::uint64_t apart = q.place().place - p.place().place;
              for (const std::uint64_t length : {bytes + 8, apart - 8, apart, 2 * apart}) {
                const auto lie = with(p.place(), length, Kind::kVersioned);
                each_way_refuses(node, client, lie + static_cast<std::int64_t>(words),
                                 Status::kOutOfRange);
                each_way_refuses(node, client, lie, Status::kOutOfRange);
              }
              each_way_refuses(node, client, with(p.place(), bytes - 8, Kind::kVersioned),
                               Status::kForeign);
              const auto plain = client.allocate<std::uint64_t>(words, there({1}), Kind::kPlain);
              each_way_refuses(node, client, with(plain.place(), bytes, Kind::kVersioned),
                               Status::kForeign);
              each_way_refuses(node, client, with(p.place(), bytes, Kind::kPlain),
                               Status::kForeign);
              each_way_refuses(node, client, with(plain.place(), bytes + 8, Kind::kPlain) + 1,
                               Status::kOutOfRange);
              require_status(client.free(with(p.place(), bytes + 8, Kind::kVersioned)),
                             Status::kOutOfRange, "free");
              // Nothing is lost.
              for (const auto& each : {p, q, plain}) {
                std::vector<std::uint64_t> seen(words, 1);
                for (const ReadMode mode : kModes) {
                  require_done(client.read(each, std::span(seen), mode), "read");
                  require(seen == std::vector<std::uint64_t>(words), "zeros");
                }
                require_done(client.free(each), "free");
              }
            }
          }
          meet(member, node, 0);
          require_equal(node.space.segments(), 0u, "segments");
        }) == "");
}

TEST_CASE("a_home_without_memory_says_so_and_goes_on") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member, 256 << 10);
          if (member.rank == 0) {
            Client client(node.space);
            std::vector<GlobalPtr<std::byte>> all;
            std::string text;
            for (int i = 0; i < 100 && text.find("no memory") == std::string::npos; ++i) {
              text = error_text([&] { all.push_back(client.allocate(20'000, there({1}))); });
            }
            require(text.find("process 1 has no memory left for a segment of 20000 bytes") !=
                        std::string::npos,
                    text);
            require(all.size() > 5, "there was some");
            refused([&] { client.allocate(300 << 10, there({1})); }, "large");
            refused([&] { client.allocate(0, there({1})); }, "empty");
            refused([&] { client.allocate(5'000'000'000, there({1})); }, "more than 4 GiB");
            refused([&] { client.allocate(8, there({2})); }, "no process");
            refused([&] { client.allocate(8, near({{2}, 0})); }, "near a worker of no process");
            text = error_text([&] { client.allocate(8, near({{1}, 7})); });
            require(text.find("process 1 has no worker 7") != std::string::npos, text);
            require_done(client.free(all.back()), "free");
            all.back() = client.allocate(20'000, there({1}));
            require_done(client.read(all.back(), std::span<std::byte>()), "an empty read");
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("spaces_of_different_options_are_refused_everywhere") {
  CHECK(run_members(2, [](Member& member) {
          dsfabric::Fabric fabric = member.join(MemoryNode::config(1));
          const std::string text = error_text(
              [&] { const Space space(fabric, {.bytes = std::size_t{65536} << member.rank}); });
          require(text.find("SpaceOptions") != std::string::npos, text);
          refused([&] { const Space space(fabric, {.bytes = 0}); }, "0 bytes");
        }) == "");
}

TEST_CASE("options_near_the_end_of_their_types_are_named") {
  CHECK(run_members(1, [](Member& member) {
          dsfabric::Config config = MemoryNode::config(1);
          config.memory_limit = std::size_t{64} << 20;
          dsfabric::Fabric fabric = member.join(config);
          const auto names = [](const std::string& text, const char* option) {
            require(text.find(option) != std::string::npos, text);
          };
          for (const std::size_t bytes : {(std::size_t{1} << 40) - 1, SIZE_MAX}) {
            names(error_text([&] { const Space space(fabric, {.bytes = bytes}); }),
                  "SpaceOptions::bytes");
          }
          Space space(fabric, {.bytes = 1 << 20});
          for (const std::uint32_t most : {kMaxSubscriptions, kMaxSubscriptions + 1, UINT32_MAX}) {
            names(error_text([&] { const Client client(space, {.subscriptions = most}); }),
                  "ClientOptions::subscriptions");
          }
          // A cache takes memory as it fills, and none is needed for no subscriptions.
          Client client(space, {.cache_bytes = SIZE_MAX, .subscriptions = 0});
          const auto number = client.allocate<int>();
          int value = 0;
          require_done(client.write(number, 5), "write");
          require_done(client.read(number, value, ReadMode::kCached), "cached read");
          require_equal(value, 5, "value");
        }) == "");
}

TEST_CASE("errors_name_the_operation_and_the_segment") {
  CHECK(run_members(1, [](Member& member) {
          MemoryNode node(member);
          Client client(node.space);
          const auto p = client.allocate<int>();
          require_done(client.free(p), "free");
          int value = 0;
          const std::string text =
              error_text([&] { client.require(client.read(p, value), p, "reading a number"); });
          require(text.find("reading a number: the segment was freed") != std::string::npos, text);
          require_equal(client.locate(p).length, 0u, "what is located");
        }) == "");
}
