// SPDX-License-Identifier: MIT
// A launcher's rendezvous in a thread, and those who come to it.
#pragma once

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/proof.hpp"
#include "bootstrap/server.hpp"
#include "support/catch.hpp"

namespace support {

using namespace dsfabric;              // NOLINT: for tests of it
using namespace dsfabric::rendezvous;  // NOLINT: for tests of it

inline int stranger_at(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

/// A process that joins, of a job of `size`.
inline std::unique_ptr<Bootstrap> client_at(
    std::uint16_t port, std::uint32_t rank, std::uint32_t size,
    const std::string& secret = "secret", const std::string& build = "build",
    std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const bool newcomer = rank == kNewcomer;
  setenv(kAddressVariable, fmt::format("127.0.0.1:{}", port).c_str(), 1);
  setenv(kSecretVariable, secret.c_str(), 1);
  setenv(kRankVariable, newcomer ? kNewcomerRank : std::to_string(rank).c_str(), 1);
  newcomer ? unsetenv(kSizeVariable) : setenv(kSizeVariable, std::to_string(size).c_str(), 1);
  const struct Unset {
    ~Unset() { unsetenv(kAddressVariable); }
  } unset;
  BootstrapOptions options;
  options.start_timeout = limit;
  options.build = build;
  options.elastic_build = build;
  return make_rendezvous_client(options);
}

/// A server with the poll loop that the launcher has.
class Rendezvous {
 public:
  explicit Rendezvous(std::uint32_t processes, std::uint32_t capacity = 0)
      : processes_(processes),
        server_(processes, "secret", "127.0.0.1", 0, capacity),
        loop_([this] {
          while (!stop_) turn();
        }) {}
  ~Rendezvous() {
    stop_ = true;
    loop_.join();
  }
  std::uint16_t port() const { return server_.port(); }
  /// The most strangers that there were at once.
  std::size_t most_strangers() const { return most_strangers_; }
  /// The launcher saw this process end.
  void end(std::uint32_t rank, bool in_order) { ended_ = static_cast<int>(rank * 2 + in_order); }

  std::unique_ptr<Bootstrap> join(std::uint32_t rank, const std::string& secret = "secret",
                                  const std::string& build = "build", std::uint32_t size = 0) {
    return client_at(port(), rank, size != 0 ? size : processes_, secret, build);
  }
  int stranger() const { return stranger_at(port()); }

 private:
  void turn() {
    std::vector<pollfd> watched;
    server_.watch(watched);
    poll(watched.data(), watched.size(), 5);
    server_.handle(watched);
    most_strangers_ = std::max<std::size_t>(most_strangers_, server_.strangers());
    if (const int ended = ended_.exchange(-1); ended >= 0) {
      server_.process_ended(static_cast<std::uint32_t>(ended / 2), ended % 2 != 0);
    }
  }

  std::uint32_t processes_;
  Server server_;
  std::atomic<bool> stop_{false};
  std::atomic<int> ended_{-1};
  std::atomic<std::size_t> most_strangers_{0};
  std::thread loop_;
};

inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The next frame; empty when the other side closes the connection, or sends
/// nothing.
inline std::optional<Frame> next_of(Connection& connection) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (bool open = true; open && std::chrono::steady_clock::now() < end;) {
    if (auto frame = connection.next()) return frame;
    pollfd waiting{connection.fd(), POLLIN, 0};
    poll(&waiting, 1, 20);
    open = connection.receive(kMaxFrame);
  }
  return connection.next();
}

/// The body of the next frame, which must be of that type.
inline Bytes next_frame(Connection& connection, Type type) {
  const auto frame = next_of(connection);
  REQUIRE(frame);
  REQUIRE(frame->type == type);
  return frame->body;
}

inline std::optional<std::uint32_t> next_failed_within(Bootstrap& client,
                                                       std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (bool over = false; !over;) {
    over = std::chrono::steady_clock::now() >= end;  // and one more look
    if (const auto rank = client.next_failed()) return rank;
    pollfd waiting{client.failure_fd(), POLLIN, 0};
    poll(&waiting, 1, 20);
  }
  return std::nullopt;
}

/// What a process of that rank says to the challenge that comes first, as it travels.
inline std::pair<Greeting, Bytes> greeting_of(Connection& connection, std::uint32_t rank,
                                              std::uint32_t size) {
  Greeting greeting;
  const Bytes challenge = next_frame(connection, Type::kChallenge);
  Reader reader(challenge);
  (void)reader.u32();
  const auto nonce = reader.bytes();
  REQUIRE((nonce && nonce->size() == sizeof(Nonce)));
  std::ranges::copy(*nonce, greeting.launcher.begin());
  greeting.process = make_nonce();
  greeting.rank = rank;
  greeting.size = size;
  greeting.build = "build";
  return {greeting, Writer()
                        .u32(kProtocol)
                        .bytes(greeting.process)
                        .u32(rank)
                        .u32(size)
                        .text("build")
                        .bytes(Secret("secret").prove(HandshakeRole::kInitiator, greeting))
                        .take()};
}

}  // namespace support
