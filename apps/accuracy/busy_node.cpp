// SPDX-License-Identifier: MIT
// Threads that only work, pairs of sockets, and the log of both.
#include "busy_node.hpp"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "dtutils/error.hpp"

namespace accuracy {
namespace {

constexpr std::size_t kMostConnections = 100;
/// Connections that come or go at a time.
constexpr unsigned kMostAtOnce = 8;
/// One step of so many is about a thread.
constexpr unsigned kStepsForThread = 16;

void work_until(const std::atomic<bool>& ending) noexcept {
  volatile std::uint64_t sum = 0;
  while (!ending.load(std::memory_order_relaxed)) sum = sum * 31 + 7;
}

}  // namespace

std::uint32_t cores() noexcept {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0
             ? static_cast<std::uint32_t>(CPU_COUNT(&allowed))
             : std::thread::hardware_concurrency();
}

BusyNode::BusyNode(dsfabric::Fabric& fabric, Log& log, std::size_t limit)
    : log_(log),
      limit_(limit),
      board_(fabric),
      threads_(board_.counter(kThreads, "", monitoring::Kind::kLevel)),
      connections_(board_.counter(kConnections, "", monitoring::Kind::kLevel)) {
  const std::int64_t now = now_ns();
  log_.changes()[0] = {now, now, now_};
  log_.count = 1;
  for (std::uint32_t i = 0; i < 2 * cores(); ++i) start_thread();
}

BusyNode::~BusyNode() {
  for (const auto& each : busy_) each->ending.store(true, std::memory_order_relaxed);
  for (const auto& each : busy_) each->thread.join();
  for (const auto& pair : pairs_) {
    close(pair[0]);
    close(pair[1]);
  }
}

bool BusyNode::step() {
  if (log_.count + kMostAtOnce > limit_) return false;
  if (random_() % kStepsForThread == 0) {
    const std::size_t least = 2 * std::size_t{cores()};
    const bool more = busy_.size() == least || (busy_.size() < 2 * least && random_() % 2 == 0);
    more ? start_thread() : end_thread();
    return true;
  }
  const bool more = random_() % 2 == 0;
  for (unsigned i = random_() % kMostAtOnce + 1; i != 0; --i) {
    if (more && pairs_.size() < kMostConnections) connect();
    if (!more && !pairs_.empty()) disconnect();
  }
  return true;
}

void BusyNode::start_thread() {
  auto busy = std::make_unique<Busy>();
  busy->thread = std::thread([&ending = busy->ending] { work_until(ending); });
  busy_.push_back(std::move(busy));
  change(threads_, now_.threads, true);
}

void BusyNode::end_thread() {
  busy_.back()->ending.store(true, std::memory_order_relaxed);
  busy_.back()->thread.join();
  busy_.pop_back();
  change(threads_, now_.threads, false);
}

void BusyNode::connect() {
  std::array<int, 2> pair;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    throw dtutils::Error("the watched process", "it cannot open a pair of sockets",
                         "allow it more open files (ulimit -n)", errno);
  }
  pairs_.push_back(pair);
  change(connections_, now_.connections, true);
}

void BusyNode::disconnect() {
  close(pairs_.back()[0]);
  close(pairs_.back()[1]);
  pairs_.pop_back();
  change(connections_, now_.connections, false);
}

void BusyNode::change(monitoring::Counter& counter, std::uint64_t& figure, bool more) {
  Change& entry = log_.changes()[log_.count];
  entry.before = now_ns();
  // A locked instruction, so that others see it before the clock is read again.
  more ? counter.add() : counter.subtract();
  entry.after = now_ns();
  more ? ++figure : --figure;
  entry.now = now_;
  ++log_.count;
}

}  // namespace accuracy
