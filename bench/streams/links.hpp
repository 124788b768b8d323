// SPDX-License-Identifier: MIT
// The three ways that streams_bench carries bytes between its two processes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "bench/harness/bench.hpp"
#include "streams/streams.hpp"

namespace streams_bench {

/// How a side waits: it polls; it sleeps at once; or as the blocking calls do, which poll for a
/// moment and then sleep (for sockets as kAsleep).
enum class Waiting { kBusy, kAsleep, kBlocking };

/// A stream of Cariama.
class StreamLink {
 public:
  StreamLink(bench::Channel& channel, dtutils::ProtectionDomain& domain,
             const streams::StreamOptions& options = {});
  void send(std::span<const std::byte> bytes, Waiting waiting);
  void receive(std::span<std::byte> into, Waiting waiting);

 private:
  std::unique_ptr<streams::Stream> stream_;
};

/// A socket of the kernel, as a program that cares for latency sets it up (TCP_NODELAY).
class SocketLink {
 public:
  /// `family` is AF_INET (TCP over the loopback interface) or AF_UNIX.
  SocketLink(bench::Channel& channel, int family);
  SocketLink(const SocketLink&) = delete;
  SocketLink& operator=(const SocketLink&) = delete;
  ~SocketLink();
  void send(std::span<const std::byte> bytes, Waiting waiting);
  void receive(std::span<std::byte> into, Waiting waiting);

 private:
  int fd_;
};

}  // namespace streams_bench
