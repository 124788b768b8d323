// SPDX-License-Identifier: MIT
// Global memory beside the raw operations that it is made of, from process 0 to process 1.
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bench/fabric/channel_bootstrap.hpp"
#include "bench/services/cases.hpp"
#include "dsfabric/dsfabric.hpp"
#include "dtutils/marked_read.hpp"
#include "memory/memory.hpp"

namespace services_bench {
namespace {

using memory::Client;
using memory::GlobalPtr;
using memory::ReadMode;

/// Segments that a case reads in turn.
constexpr std::size_t kSegments = 8;

void must(bool condition, const char* what) {
  if (!condition) [[unlikely]]
    throw std::runtime_error(what);
}
void must(memory::Status status) {
  if (status != memory::Status::kDone) [[unlikely]]
    throw std::runtime_error(memory::to_string(status));
}

/// A fabric with a Space, whose main threads use it; the service thread of process 1 is the home.
struct MemoryNode {
  MemoryNode(bench::Channel& channel, const std::string& device)
      : fabric(dsfabric::join(std::make_unique<fabric_bench::ChannelBootstrap>(channel),
                              fabric_bench::one_worker(device))),
        space(fabric),
        client(space),
        small(space, {.cache_bytes = 1024}),
        registered(fabric.general_allocator().allocate(8192)),
        calls(fabric) {}
  dsfabric::Fabric fabric;
  memory::Space space;
  Client client;
  /// Whose cache is too small for the segments of a case.
  Client small;
  dtutils::RDMAMemory registered;
  dsfabric::SendChannel calls;
  std::vector<GlobalPtr<std::byte>> segments;
  std::vector<memory::Subscription<std::byte>> subscriptions;
  dtutils::RDMAMemory copies;
  std::optional<dsfabric::RemoteMemory> raw;
};
using MemoryNodePtr = std::shared_ptr<std::unique_ptr<MemoryNode>>;

/// What is kept while a case runs.
void prepare(bench::Case& item, const MemoryNodePtr& node, const std::string& device,
             std::size_t bytes, bool subscribed = false) {
  item.prepare = [=, &device](bench::Channel& channel) {
    *node = std::make_unique<MemoryNode>(channel, device);
    MemoryNode& here = **node;
    if (channel.rank() == 0) {
      here.copies = here.fabric.general_allocator().allocate(kSegments * bytes);
      here.raw = here.fabric.allocate_remote({1}, kSegments * bytes);
      for (std::size_t i = 0; i < kSegments; ++i) {
        here.segments.push_back(here.client.allocate(bytes, memory::there({1})));
        if (subscribed) here.subscriptions.emplace_back(here.client, here.segments.back());
      }
    }
    channel.barrier();
  };
  item.finish = [=](bench::Channel& channel) {
    channel.barrier();
    node->reset();
  };
}

/// ns of an operation on each of the segments in turn.
template <class Operation>
auto in_turn(const MemoryNodePtr& node, Operation operation) {
  return [=](bench::Batch& batch) {
    MemoryNode& here = **node;
    return batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) operation(here, i % kSegments);
    });
  };
}

/// Copies what a read has brought to where the program wants it, and keeps the compiler from
/// leaving it out.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  asm volatile("" : : "r"(to) : "memory");
}

auto raw_read(const MemoryNodePtr& node, std::size_t bytes) {
  return in_turn(node, [bytes](MemoryNode& here, std::size_t i) {
    must(here.fabric.transmitter({1}).blocking_read(
             here.registered.local(0, static_cast<std::uint32_t>(bytes)),
             here.raw->locator().part(i * bytes, bytes)),
         "the peer is gone");
  });
}

/// The same, without a completion where the device allows it.
auto marked_read(const MemoryNodePtr& node, std::size_t bytes) {
  return in_turn(node, [bytes](MemoryNode& here, std::size_t i) {
    must(dtutils::BlockingReader(here.fabric.transmitter({1}))
             .read(here.registered.local(0, static_cast<std::uint32_t>(bytes)),
                   here.raw->locator().part(i * bytes, bytes)),
         "the peer is gone");
  });
}

auto read(const MemoryNodePtr& node, std::size_t bytes, ReadMode mode) {
  return in_turn(node, [bytes, mode](MemoryNode& here, std::size_t i) {
    must(here.client.read(here.segments[i], std::span(here.registered.data(), bytes), mode));
  });
}

void add_reads(bench::Suite& suite, const std::string& device) {
  for (const std::size_t bytes : {8, 64, 4096}) {
    auto node = std::make_shared<std::unique_ptr<MemoryNode>>();
    bench::Case item{.name = "read_validated", .size = bytes};
    item.variants = {
        {.name = "rdma_read", .measure = raw_read(node, bytes)},
        {.name = "marked_read", .measure = marked_read(node, bytes)},
        {.name = "validated",
         .measure = in_turn(node,
                            [bytes](MemoryNode& here, std::size_t i) {
                              must(here.client.read(
                                  here.segments[i],
                                  here.registered.local(0, static_cast<std::uint32_t>(bytes))));
                            })},
        {.name = "copied", .measure = read(node, bytes, ReadMode::kValidated)}};
    item.ratios = {{.over = "validated", .under = "rdma_read", .bar = "<= 1.15"},
                   {.over = "copied", .under = "rdma_read"},
                   {.over = "validated", .under = "marked_read"}};
    prepare(item, node, device, bytes);
    suite.add(std::move(item));
  }
}

void add_hits(bench::Suite& suite, const std::string& device) {
  for (const std::size_t bytes : {64, 1024, 4096}) {
    auto node = std::make_shared<std::unique_ptr<MemoryNode>>();
    bench::Case item{.name = "read_cached_hit", .size = bytes};
    item.variants = {{.name = "memcpy_and_rdma_read_8",
                      .measure = in_turn(node,
                                         [bytes](MemoryNode& here, std::size_t i) {
                                           must(here.fabric.transmitter({1}).blocking_read(
                                                    here.registered.local(4096, 8),
                                                    here.raw->locator().part(i * bytes, 8)),
                                                "the peer is gone");
                                           copy_bytes(here.registered.data(),
                                                      here.copies.data() + i * bytes, bytes);
                                         })},
                     {.name = "cached", .measure = read(node, bytes, ReadMode::kCached)}};
    item.ratios = {{.over = "cached", .under = "memcpy_and_rdma_read_8", .bar = "<= 1.15"}};
    prepare(item, node, device, bytes);
    suite.add(std::move(item));
  }
  auto missing = std::make_shared<std::unique_ptr<MemoryNode>>();
  bench::Case miss{.name = "read_cached_miss", .size = 512};
  miss.variants = {{.name = "rdma_read", .measure = raw_read(missing, 512)},
                   {.name = "cached",
                    .measure = in_turn(missing, [](MemoryNode& here, std::size_t i) {
                      must(here.small.read(here.segments[i], std::span(here.registered.data(), 512),
                                           ReadMode::kCached));
                    })}};
  miss.ratios = {{.over = "cached", .under = "rdma_read"}};
  prepare(miss, missing, device, 512);
  suite.add(std::move(miss));
  for (const std::size_t bytes : {64, 1024, 4096}) {
    auto node = std::make_shared<std::unique_ptr<MemoryNode>>();
    bench::Case item{.name = "read_subscribed_hit", .size = bytes};
    item.variants = {{.name = "memcpy",
                      .measure = in_turn(node,
                                         [bytes](MemoryNode& here, std::size_t i) {
                                           copy_bytes(here.registered.data(),
                                                      here.copies.data() + i * bytes, bytes);
                                         })},
                     {.name = "subscribed", .measure = read(node, bytes, ReadMode::kSubscribed)},
                     {.name = "subscription",
                      .measure = in_turn(node, [bytes](MemoryNode& here, std::size_t i) {
                        must(here.subscriptions[i].read(std::span(here.registered.data(), bytes)));
                      })}};
    item.ratios = {{.over = "subscribed", .under = "memcpy", .bar = "<= 1.3"},
                   {.over = "subscription", .under = "memcpy", .bar = "<= 1.3"}};
    prepare(item, node, device, bytes, true);
    suite.add(std::move(item));
  }
}

void add_requests(bench::Suite& suite, const std::string& device) {
  // As the callee would do by hand: a call to a service thread, and its answer in a slot.
  const auto call = [](const MemoryNodePtr& node) {
    return [=](bench::Batch& batch) {
      MemoryNode& here = **node;
      dsfabric::ReturnSlot<std::uint64_t> slot(here.fabric);
      const auto home = dsfabric::ThreadId::service_of({1});
      return batch.ns_each([&] {
        for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
          must(here.calls.call_return(
                   home, [i] { return i; }, slot) == dsfabric::CallStatus::kAccepted,
               "the peer is gone");
          must(slot.get() == i, "a wrong result");
        }
      });
    };
  };
  auto node = std::make_shared<std::unique_ptr<MemoryNode>>();
  bench::Case item{.name = "write_by_call", .size = 64};
  item.variants = {{.name = "call_return", .measure = call(node)},
                   {.name = "write",
                    .measure = in_turn(node,
                                       [](MemoryNode& here, std::size_t i) {
                                         must(here.client.write(here.segments[i],
                                                                std::span<const std::byte>(
                                                                    here.registered.data(), 64)));
                                       })},
                   {.name = "one_sided",
                    .measure = in_turn(node, [](MemoryNode& here, std::size_t i) {
                      must(here.client.write(here.segments[i],
                                             std::span<const std::byte>(here.registered.data(), 64),
                                             {.mode = memory::WriteMode::kOneSided}));
                    })}};
  item.ratios = {{.over = "write", .under = "call_return", .bar = "<= 1.3"}};
  prepare(item, node, device, 64);
  suite.add(std::move(item));

  node = std::make_shared<std::unique_ptr<MemoryNode>>();
  item = {.name = "allocate", .size = 64};
  item.max_iterations = 20'000;
  item.variants = {{.name = "call_return", .measure = call(node)},
                   {.name = "allocate", .measure = [node](bench::Batch& batch) {
                      MemoryNode& here = **node;
                      std::vector<GlobalPtr<std::byte>> all(batch.iterations());
                      const double ns = batch.ns_each([&] {
                        for (auto& each : all) each = here.client.allocate(64, memory::there({1}));
                      });
                      for (const auto& each : all) must(here.client.free(each));
                      return ns;
                    }}};
  item.ratios = {{.over = "allocate", .under = "call_return", .bar = "<= 1.5"}};
  prepare(item, node, device, 64);
  suite.add(std::move(item));
}

}  // namespace

void add_memory_cases(bench::Suite& suite, const std::string& device) {
  add_reads(suite, device);
  add_hits(suite, device);
  add_requests(suite, device);
}

}  // namespace services_bench
