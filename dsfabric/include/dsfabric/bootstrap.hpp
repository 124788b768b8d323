// SPDX-License-Identifier: MIT
// How the processes of a job find each other before RDMA connects them; bring
// your own if you like.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dsfabric {

class ElasticJob;

/// What one process gives to all others.
using Bytes = std::vector<std::byte>;

/// A slow, reliable channel among all processes of the job: enough to exchange
/// endpoints and keys once, and to learn of processes that end. join() brings
/// PMIx, the rendezvous of scripts/run, or none for a lone process. A program
/// with a launcher of its own derives from this and joins with
/// join(std::unique_ptr<Bootstrap>, Config). Setup only, one thread, unless a
/// method says otherwise.
class Bootstrap {
 public:
  Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  virtual ~Bootstrap() = default;

  /// The number of this process in the job, from 0.
  virtual std::uint32_t rank() const noexcept = 0;
  /// Number of processes in the job; of an elastic one, of those that start it.
  virtual std::uint32_t size() const noexcept = 0;
  /// "alone", "cariama-run at 127.0.0.1:4711", "PMIx".
  virtual std::string name() const = 0;

  /// Everybody's bytes, by rank, when everybody has called it. Calls are
  /// matched by their order. Throws Error that names the ranks that did not
  /// come within `limit`, or that have failed.
  virtual std::vector<Bytes> all_gather(std::span<const std::byte> mine,
                                        std::chrono::milliseconds limit) = 0;
  /// What everybody has for this process, by rank, when everybody has called
  /// it: `mine` holds the bytes for each rank. Otherwise as all_gather, by one
  /// of which it is done where nothing better is at hand.
  virtual std::vector<Bytes> all_to_all(std::span<const Bytes> mine,
                                        std::chrono::milliseconds limit);
  /// Returns when everybody has called it. Throws as all_gather.
  void barrier(std::chrono::milliseconds limit) { all_gather({}, limit); }

  /// Readable when `next_failed` or `next_letter` may have news; -1: this
  /// bootstrap brings none.
  virtual int failure_fd() const noexcept { return -1; }
  /// A process that ended without goodbye, each once, `size()` for the launcher
  /// itself; never waits.
  virtual std::optional<std::uint32_t> next_failed() noexcept { return std::nullopt; }

  /// Whether it carries letters between two processes. Then `send`,
  /// `next_letter`, `next_failed` and `goodbye` may be called while another
  /// thread is in a collective, and the letters of a process come before the
  /// news of its end.
  virtual bool relays() const noexcept { return false; }
  /// Sends bytes to process `to`, or to all others when it is `size()`. What
  /// one process sends to another arrives once, in order, unless one of them
  /// ends. Never waits. Throws std::bad_alloc. Any thread.
  virtual void send(std::uint32_t /*to*/, std::span<const std::byte> /*bytes*/) {}
  /// What another process has sent.
  struct Letter {
    /// Its rank.
    std::uint32_t from;
    /// What it gave to `send`.
    Bytes bytes;
  };
  /// The next one that has come; none while the end of a process is to be told
  /// before. Never waits.
  virtual std::optional<Letter> next_letter() noexcept { return std::nullopt; }

  /// This process leaves in order: its end is not a failure.
  virtual void goodbye() noexcept {}

  /// Set in a job whose processes come and go: it then tells of their ends, not next_failed(). Any
  /// thread, wait-free.
  virtual ElasticJob* elastic() noexcept { return nullptr; }
};

}  // namespace dsfabric
