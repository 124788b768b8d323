// SPDX-License-Identifier: MIT
// The launcher's side of the rendezvous: one thread, one poll loop, any number of processes.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/frame.hpp"

namespace dsfabric::rendezvous {

/// Listens, lets in processes that know the secret, and answers them. Strangers, garbage and slow
/// connections are dropped; they cost nothing but a descriptor for a few seconds. One thread.
class Server {
 public:
  /// Listens on `address` (an IPv4 or IPv6 literal) and `port`, 0 for any free one. Throws Error
  /// (a used port, a wrong address).
  Server(std::uint32_t processes, std::string secret, const std::string& address,
         std::uint16_t port);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  std::uint16_t port() const noexcept { return port_; }

  /// Appends what to wait for; pass the same entries to `handle` after poll(2).
  void watch(std::vector<pollfd>& into) const;
  /// Until when poll(2) may wait; empty: as long as it likes.
  std::optional<std::chrono::steady_clock::time_point> next_deadline() const;
  void handle(const std::vector<pollfd>& ready);

  /// The launcher saw this process end; a process that said goodbye, or ended with status 0 before
  /// it joined, has not failed.
  void process_ended(std::uint32_t rank, bool in_order);
  /// Ranks that have not joined so far.
  std::vector<std::uint32_t> not_joined() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Guest {
    explicit Guest(int socket) : connection(socket) {}
    Connection connection;
    Clock::time_point hello_by = Clock::now() + kHelloTime;
    std::optional<std::uint32_t> rank;
    bool closed = false;
  };
  struct Member {
    Guest* guest = nullptr;
    bool joined = false;
    bool left = false;
    bool failed = false;
    std::optional<Bytes> contribution;
  };

  void accept_guest();
  void serve(Guest& guest);
  void greet(Guest& guest, const Frame& frame);
  void refuse(Guest& guest, const std::string& sentence);
  void serve_member(Guest& guest, const Frame& frame);
  void contribute(Member& member, std::span<const std::byte> body);
  void finish_gather();
  void fail_gather(const std::string& sentence);
  void lose(Guest& guest);
  void fail(std::uint32_t rank);
  std::string refusal(const Bytes& hello, std::uint32_t& rank);

  std::string secret_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::string build_;
  std::vector<Member> members_;
  std::vector<std::unique_ptr<Guest>> guests_;
  std::optional<Clock::time_point> gather_by_;
};

}  // namespace dsfabric::rendezvous
