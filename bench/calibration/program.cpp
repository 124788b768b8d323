// SPDX-License-Identifier: MIT
// The measured loops of the two-node program.
#include "bench/calibration/program.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/dtutils/hand_signaling.hpp"
#include "bench/dtutils/link.hpp"
#include "bench/harness/stats.hpp"
#include "dtutils/clock.hpp"

namespace calibration {
namespace {

using link_bench::await_completion;
using link_bench::HandSignaling;
using link_bench::require;

constexpr std::size_t kBox = std::size_t{64} << 10;
/// Receives that are posted ahead.
constexpr std::uint64_t kAhead = 64;

// Soft-RoCE offers no inline data.
dtutils::QueuePairOptions queue_pair_options() {
  dtutils::QueuePairOptions options;
  options.send_depth = HandSignaling::kWindow;
  options.max_inline = 0;
  return options;
}

double nanoseconds(dtutils::Clock::duration time) { return static_cast<double>(time.count()); }

}  // namespace

Node::Node(const std::string& device)
    : device_(dtutils::open_device(device)),
      pd_(*device_),
      segment_(2 * kBox, dtutils::PageKind::kSmall, -1),
      region_(pd_, segment_.data(), segment_.size()),
      sends_(*device_, 2 * HandSignaling::kWindow),
      receives_(*device_, 2 * kAhead),
      qp_(pd_, sends_, receives_, queue_pair_options()) {}

void Node::connect(const dtutils::Endpoint& peer, const dtutils::RemoteMemoryLocator& memory) {
  qp_.connect(peer);
  there_ = memory;
}

dtutils::PostResult Node::post(const Figure& figure, std::uint64_t id, unsigned flags) noexcept {
  const dtutils::LocalBuffer here = region_.local(0, figure.bytes);
  const dtutils::RemoteMemoryLocator there = there_.part(kBox, figure.bytes);
  switch (figure.operation) {
    case Operation::kRead:
      return qp_.post_read(here, there, id, flags);
    case Operation::kFetchAndAdd:
      return qp_.post_fetch_and_add(here, there, 1, id, flags);
    case Operation::kSend:
      return qp_.post_send(here, id, flags);
    default:
      return qp_.post_write(here, there, id, flags);
  }
}

void Node::prepare(const Figure& figure) {
  if (figure.operation != Operation::kSend) return;
  for (std::uint64_t i = 0; i < std::min(kAhead, figure.rounds); ++i) {
    require(qp_.post_receive(region_.local(kBox, figure.bytes), i));
  }
}

double Node::measure(const Figure& figure) {
  if (figure.stream) return stream(figure);
  const bool answered = figure.operation == Operation::kSend;
  std::vector<double> times;
  times.reserve(figure.rounds);
  for (std::uint64_t i = 0; i < figure.rounds; ++i) {
    const auto begin = dtutils::Clock::now();
    require(post(figure, i, dtutils::kSignaled));
    await_completion(sends_);
    if (answered) await_completion(receives_);
    times.push_back(nanoseconds(dtutils::Clock::now() - begin));
    if (answered && i + kAhead < figure.rounds) {
      require(qp_.post_receive(region_.local(kBox, figure.bytes), i));
    }
  }
  return bench::summarize(std::move(times)).median / (answered ? 2 : 1);
}

void Node::assist(const Figure& figure) {
  if (figure.operation != Operation::kSend) return;
  for (std::uint64_t i = 0; i < figure.rounds; ++i) {
    await_completion(receives_);
    if (i + kAhead < figure.rounds) {
      require(qp_.post_receive(region_.local(kBox, figure.bytes), i));
    }
    require(post(figure, i, dtutils::kSignaled));
    await_completion(sends_);
  }
}

double Node::stream(const Figure& figure) {
  std::vector<double> times;
  auto last = dtutils::Clock::now();
  const auto await = [&] {
    await_completion(sends_);
    const auto now = dtutils::Clock::now();
    times.push_back(nanoseconds(now - last) / HandSignaling::kEvery);
    last = now;
  };
  HandSignaling signaling;
  const std::uint64_t posts = HandSignaling::posts_for(figure.rounds);
  for (std::uint64_t n = 0; n < posts; ++n) {
    const unsigned flags = signaling.next(await);
    require(post(figure, n, flags));
  }
  // The first one also waited for the queue to fill; behind the last one it runs empty.
  times.erase(times.begin());
  signaling.drain([&] { await_completion(sends_); });
  return bench::summarize(std::move(times)).median;
}

}  // namespace calibration
