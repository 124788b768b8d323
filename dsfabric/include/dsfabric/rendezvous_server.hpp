// SPDX-License-Identifier: MIT
// What a launcher runs so that the processes that it starts find each other: scripts/run, or yours.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dsfabric {

namespace rendezvous {
class Server;
}  // namespace rendezvous

/// A process as the launcher of an elastic job knows it.
struct JobMember {
  /// kStarting: it is expected, or has come and not yet said who it is. The others as PeerState.
  enum class State : std::uint8_t { kStarting, kActive, kLeft, kFailed };

  /// Its rank, which is its number in the job.
  std::uint32_t process = 0;
  /// It is one of those that start the job.
  bool founder = false;
  /// What it does now.
  State state = State::kStarting;
  /// When this state began.
  std::chrono::system_clock::time_point since;
  /// The host that it runs on; empty as long as it is starting.
  std::string host;
  /// Its number in its operating system; 0 as long as it is starting.
  std::uint32_t pid = 0;
  /// Why it has failed, in words.
  std::string reason;
};

/// The launcher's side of the rendezvous. A launcher starts each process with `environment(rank)`
/// and the secret, calls `handle` whenever poll(2) reports one of the descriptors of `watch`, and
/// reports each process that ends. In these processes join() finds the rendezvous by itself.
///
/// Processes that do not know the secret, garbage and slow connections are dropped; they cost no
/// more than a descriptor for a few seconds. One thread. Setup only: it allocates and makes system
/// calls. Programs need none of it, so dsfabric.hpp does not include it.
class RendezvousServer {
 public:
  /// The variable by which a process learns the secret. Nobody else may read it, so it is not part
  /// of `environment` and belongs on no command line.
  static constexpr const char* kSecretVariable = "CARIAMA_SECRET";
  /// What PMIx launchers set. A process that has these too might join the job of another launcher,
  /// so a launcher removes them from the environment of what it starts.
  static constexpr const char* kPmixVariables[] = {"PMIX_NAMESPACE", "PMIX_RANK"};

  /// Makes a secret and listens for `processes` processes on `address`, an IPv4 or IPv6 literal
  /// that all of them reach, and `port`, 0 for any free one. With a `capacity` the job is elastic:
  /// others may come while it runs, until so many have had a number in it. Throws dtutils::Error if
  /// the port is in use, the address is not one of this host, or the capacity is smaller than
  /// `processes` or larger than 65535.
  RendezvousServer(std::uint32_t processes, const std::string& address, std::uint16_t port,
                   std::uint32_t capacity = 0);
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;
  /// Closes all connections; processes that still run take the launcher for failed.
  ~RendezvousServer();

  /// The secret of this job in hexadecimal digits: the value of kSecretVariable.
  const std::string& secret() const noexcept { return secret_; }
  /// NAME=VALUE for the process of this rank, without the secret.
  std::vector<std::string> environment(std::uint32_t rank) const;
  /// NAME=VALUE for a process that comes to an elastic job at this address, without its secret.
  static std::vector<std::string> newcomer_environment(const std::string& address);
  /// Where it listens: "127.0.0.1:4711", "[::1]:4711".
  const std::string& address() const noexcept { return address_; }

  /// Appends what to wait for. Pass the same entries to `handle` after poll(2).
  void watch(std::vector<pollfd>& into) const;
  /// Until when poll(2) may wait; empty: without a limit.
  std::optional<std::chrono::steady_clock::time_point> next_deadline() const;
  /// Accepts, reads and answers what poll(2) found, and drops what is late. Never waits.
  void handle(const std::vector<pollfd>& ready);

  /// The launcher saw this process end. A process that said goodbye, or that ended with status 0
  /// before it joined (`in_order`), has not failed. The others are told of one that has.
  void process_ended(std::uint32_t rank, bool in_order);
  /// Ranks that have not joined so far.
  std::vector<std::uint32_t> not_joined() const;
  /// Processes that have joined, and have neither left nor failed, whoever has started them.
  std::uint32_t members() const noexcept;
  /// All that had a number in an elastic job, in its order. In other jobs processes do not say who
  /// they are, and stay kStarting until they have left or failed.
  std::vector<JobMember> roster() const;

 private:
  std::uint32_t processes_;
  std::uint32_t capacity_;
  std::string secret_;
  std::unique_ptr<rendezvous::Server> server_;
  std::string address_;
};

}  // namespace dsfabric
