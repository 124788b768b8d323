// SPDX-License-Identifier: MIT
// Reading the counters of other processes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dsfabric/send_channel.hpp"
#include "dtutils/rdma_memory.hpp"
#include "monitoring/board.hpp"

namespace monitoring {

/// The schemes of the paper (003, section 5.2). Those by message use calls of DSfabric to a service
/// thread in place of the paper's sockets.
enum class Scheme : std::uint8_t {
  /// One RDMA read of the words that the program itself changes: exact at the instant of the read,
  /// and nobody there does anything. Figures of a Sampler are as old as its interval.
  kRdmaSync,
  /// One RDMA read of the copy that a Sampler there has made last.
  kRdmaAsync,
  /// A service thread there takes new figures of the node, and answers with all counters.
  kMessageSync,
  /// A service thread there answers with the copy that a Sampler there has made last.
  kMessageAsync,
};

/// How a read has ended.
enum class [[nodiscard]] Status : std::uint8_t {
  /// The figures are there.
  kDone,
  /// The process has made no Board yet.
  kNoBoard,
  /// The scheme reads a copy, and no Sampler there has made one.
  kNoSample,
  /// Its board is of another version of this library.
  kOtherLayout,
  /// The process has failed or left.
  kGone,
};
/// In words: "the process has made no board".
const char* to_string(Status status) noexcept;

/// A counter as its process has described it.
struct CounterInfo {
  /// Its name.
  std::string name;
  /// For people; may be empty.
  std::string unit;
  /// What the number says.
  Kind kind = Kind::kTotal;
};

/// The numbers of one process at one moment, in the order of Watcher::counters().
struct Reading {
  /// Counters that existed.
  std::uint32_t count = 0;
  /// For the schemes that read a copy: when it was made, in ns since the epoch by the clock of that
  /// node (CLOCK_REALTIME). Else 0.
  std::uint64_t sampled_at = 0;
  /// The numbers; those from `count` on mean nothing.
  std::array<std::uint64_t, kMaxCounters> values{};
};

/// Reads boards. Each word of a reading was the number of its counter at one moment of the read, on
/// the shm device and on adapters, which read aligned words whole; Soft-RoCE copies byte by byte,
/// and a word that changes meanwhile may come with bytes of two numbers. Words of one reading may
/// be of different moments of it.
///
/// Owner thread only; the Fabric outlives it. The schemes by message wait and serve meanwhile, and
/// throw Error in an inline handler, as every wait for a result.
class Watcher {
 public:
  /// Throws Error when there is no registered memory. Setup only.
  explicit Watcher(dsfabric::Fabric& fabric);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// The counters of a process. The first read of a process asks for the place of its board
  /// (Fabric::lookup, or that process itself where the one that kept the name is gone), which is a
  /// call; later ones by RDMA are one read, and allocate nothing.
  /// Waits for no processor of the process by RDMA.
  Status read(dsfabric::ProcessId process, Reading& into, Scheme scheme = Scheme::kRdmaSync);
  /// What the first `count` numbers of a reading of that process are. Reads what it does not know
  /// yet by RDMA, and may allocate. Fewer when the process is gone.
  const std::vector<CounterInfo>& counters(dsfabric::ProcessId process, std::uint32_t count);

 private:
  struct Known {
    dtutils::RemoteMemoryLocator page;
    std::vector<CounterInfo> counters;
  };
  /// Finds the board of a process.
  Status find(dsfabric::ProcessId process, Known*& known);
  /// The same, from the process itself.
  Status ask_for_place(dsfabric::ProcessId process, Known& known);
  Status by_rdma(dsfabric::ProcessId process, const Known& known, bool copy, Reading& into);
  Status by_message(dsfabric::ProcessId process, bool copy, Reading& into);

  dsfabric::Fabric& fabric_;
  dsfabric::SendChannel calls_;
  dtutils::RDMAMemory scratch_;
  std::vector<Known> known_;
};

}  // namespace monitoring
