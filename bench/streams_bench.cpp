// SPDX-License-Identifier: MIT
// Measures streams beside TCP over the loopback interface and Unix-domain sockets.
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <vector>

#include "bench/harness/bench.hpp"
#include "bench/streams/links.hpp"

namespace {

using streams_bench::SocketLink;
using streams_bench::StreamLink;
using streams_bench::Waiting;

/// For long sends.
constexpr std::uint32_t kLargeRing = 1 << 17;

struct Links {
  std::unique_ptr<dtutils::Device> device;
  std::optional<dtutils::ProtectionDomain> domain;
  std::optional<StreamLink> streams;
  std::optional<StreamLink> large;
  std::optional<StreamLink> credits;
  std::optional<StreamLink> zero_copy;
  std::optional<StreamLink> asynchronous;
  std::optional<SocketLink> tcp;
  std::optional<SocketLink> unix_socket;
};

/// 64 bytes there and back; half of it is the figure.
template <class Link>
bench::Variant ping_pong(const char* name, std::optional<Link>& link, Waiting waiting) {
  const auto play = [&link, waiting](bench::Batch& batch) {
    std::byte bytes[64]{};
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      if (batch.rank() == 0) link->send(bytes, waiting);
      link->receive(bytes, waiting);
      if (batch.rank() != 0) link->send(bytes, waiting);
    }
  };
  return {
      .name = name,
      .measure = [play](bench::Batch& batch) { return batch.ns_each([&] { play(batch); }) / 2; },
      .assist = play};
}

/// Sends of `size` bytes one way, and one byte back at the end of all.
template <class Link>
bench::Variant one_way(const char* name, std::optional<Link>& link, std::size_t size) {
  return {.name = name,
          .measure =
              [&link, size](bench::Batch& batch) {
                const std::vector<std::byte> bytes(size);
                return batch.bytes_per_second(size, [&] {
                  for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
                    link->send(bytes, Waiting::kBusy);
                  }
                  std::byte done[1];
                  link->receive(done, Waiting::kBusy);
                });
              },
          .assist =
              [&link, size](bench::Batch& batch) {
                std::vector<std::byte> bytes(size);
                for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
                  link->receive(bytes, Waiting::kBusy);
                }
                link->send(std::span(bytes).first(1), Waiting::kBusy);
              }};
}

/// How long a sender computes for each piece: about as long as the piece takes to be copied.
std::chrono::nanoseconds computing_for(std::size_t size) {
  return std::chrono::nanoseconds(size / 8);
}

/// Sends of `size` bytes one way, from two buffers in turn; between them the sender computes.
bench::Variant computing(const char* name, std::optional<StreamLink>& link, std::size_t size) {
  const auto send = [&link, size](bench::Batch& batch, std::vector<std::byte>* buffers) {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      std::vector<std::byte>& buffer = buffers[i % 2];
      buffer[size / 2] = static_cast<std::byte>(i);
      link->send(buffer, Waiting::kBlocking);
      const auto end = std::chrono::steady_clock::now() + computing_for(size);
      while (std::chrono::steady_clock::now() < end) {
      }
    }
    std::byte done[1];
    link->receive(done, Waiting::kBlocking);
  };
  return {.name = name,
          .measure =
              [send, size](bench::Batch& batch) {
                std::vector<std::byte> buffers[2] = {std::vector<std::byte>(size),
                                                     std::vector<std::byte>(size)};
                return batch.bytes_per_second(size, [&] { send(batch, buffers); });
              },
          .assist =
              [&link, size](bench::Batch& batch) {
                std::vector<std::byte> bytes(size);
                for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
                  link->receive(bytes, Waiting::kBlocking);
                }
                link->send(std::span(bytes).first(1), Waiting::kBlocking);
              }};
}

void add_ping_pong(bench::Suite& suite, Links& links, const char* name, Waiting waiting,
                   const char* tcp_bar, const char* unix_bar) {
  suite.add({.name = name,
             .size = 64,
             .unit = bench::Unit::kNanoseconds,
             .variants = {ping_pong("streams", links.streams, waiting),
                          ping_pong("tcp", links.tcp, waiting),
                          ping_pong("unix", links.unix_socket, waiting)},
             .ratios = {{.over = "tcp", .under = "streams", .bar = tcp_bar},
                        {.over = "unix", .under = "streams", .bar = unix_bar}}});
}

void add_one_way(bench::Suite& suite, std::optional<StreamLink>& streams, Links& links,
                 std::size_t size, const char* bar) {
  suite.add({.name = "one_way",
             .size = size,
             .unit = bench::Unit::kBytesPerSecond,
             .variants = {one_way("streams", streams, size), one_way("tcp", links.tcp, size)},
             .ratios = {{.over = "streams", .under = "tcp", .bar = bar}}});
}

void add_flow_controls(bench::Suite& suite, Links& links, std::size_t size, const char* bar) {
  suite.add({.name = "flow_control",
             .size = size,
             .unit = bench::Unit::kBytesPerSecond,
             .variants = {one_way("packetized", links.streams, size),
                          one_way("credits", links.credits, size)},
             .ratios = {{.over = "packetized", .under = "credits", .bar = bar}}});
}

void add_zero_copy(bench::Suite& suite, Links& links, std::size_t size) {
  suite.add({.name = "computing_sender",
             .size = size,
             .unit = bench::Unit::kBytesPerSecond,
             .variants = {computing("copying", links.large, size),
                          computing("zero_copy", links.zero_copy, size),
                          computing("asynchronous", links.asynchronous, size)},
             .ratios = {{.over = "asynchronous", .under = "copying", .bar = ">= 1.3"},
                        {.over = "zero_copy", .under = "copying"}}});
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "shm";
  Links links;
  bench::Suite suite(argc, argv, "streams_bench", "streams beside sockets of the kernel");
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.setup([&](bench::Channel& channel) {
    links.device = dtutils::open_device(device);
    links.domain.emplace(*links.device);
    links.streams.emplace(channel, *links.domain);
    links.large.emplace(channel, *links.domain, streams::StreamOptions{.ring = kLargeRing});
    links.credits.emplace(channel, *links.domain,
                          streams::StreamOptions{.flow = streams::FlowControl::kCredits});
    links.zero_copy.emplace(channel, *links.domain,
                            streams::StreamOptions{.flow = streams::FlowControl::kZeroCopy});
    links.asynchronous.emplace(
        channel, *links.domain,
        streams::StreamOptions{.flow = streams::FlowControl::kZeroCopy, .asynchronous = true});
    links.tcp.emplace(channel, AF_INET);
    links.unix_socket.emplace(channel, AF_UNIX);
  });
  suite.teardown([&](bench::Channel& channel) {
    channel.barrier();
    links.unix_socket.reset();
    links.tcp.reset();
    links.asynchronous.reset();
    links.zero_copy.reset();
    links.credits.reset();
    links.large.reset();
    links.streams.reset();
    links.domain.reset();
    links.device.reset();
  });
  add_ping_pong(suite, links, "ping_pong_busy", Waiting::kBusy, ">= 20", ">= 12");
  add_ping_pong(suite, links, "ping_pong_asleep", Waiting::kAsleep, ">= 1.3", ">= 1.3");
  add_ping_pong(suite, links, "ping_pong_blocking", Waiting::kBlocking, ">= 1.3", ">= 1.3");
  add_one_way(suite, links.streams, links, 64, ">= 15");
  add_one_way(suite, links.streams, links, 4096, ">= 6");
  add_one_way(suite, links.large, links, 1 << 20, ">= 3");
  for (const std::size_t size : {1, 8, 64, 256, 1024}) {
    add_flow_controls(suite, links, size, ">= 10");
  }
  for (const std::size_t size : {std::size_t{1} << 18, std::size_t{1} << 20}) {
    add_zero_copy(suite, links, size);
  }
  return suite.run();
}
