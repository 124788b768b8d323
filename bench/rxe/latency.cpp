// SPDX-License-Identifier: MIT
// The measured ping-pongs.
#include "bench/rxe/latency.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "dtutils/device_memory.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace link_bench {
namespace {

// perftest's get_cycles(). A system's clock may cost a good part of a message inside an emulator.
std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(bench::now_ns());
#endif
}

// Moments of posts.
class Stamps {
 public:
  explicit Stamps(std::uint64_t count) : begin_ns_(bench::now_ns()), begin_(ticks()) {
    posts_.reserve(count);
  }
  void take() noexcept { posts_.push_back(ticks()); }

  // Half of the median distance, in ns.
  double one_way_ns() const {
    const double ns_per_tick =
        (bench::now_ns() - begin_ns_) / static_cast<double>(ticks() - begin_);
    std::vector<std::uint64_t> rounds;
    for (std::size_t i = 1; i < posts_.size(); ++i) rounds.push_back(posts_[i] - posts_[i - 1]);
    const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
    std::nth_element(rounds.begin(), middle, rounds.end());
    return static_cast<double>(*middle) * ns_per_tick / 2;
  }

 private:
  double begin_ns_;
  std::uint64_t begin_;
  std::vector<std::uint64_t> posts_;
};

std::uint64_t* last_word(std::byte* buffer, std::uint32_t size) noexcept {
  return reinterpret_cast<std::uint64_t*>(buffer + size) - 1;
}

}  // namespace

double write_latency(Link& link, bench::Batch& batch, std::uint32_t size) {
  std::uint64_t* mine = last_word(link.outbox(), size);
  const std::uint64_t* theirs = last_word(link.inbox(), size);
  const dtutils::LocalBuffer from = link.from_outbox(0, size);
  const dtutils::RemoteMemoryLocator to = link.peer_inbox().part(0, size);
  const unsigned flags = link.inline_flag(size) | dtutils::kSignaled;
  const bool starts = batch.rank() == 0;
  Stamps stamps(batch.iterations());
  for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
    // The one that starts waits for the answer to its last post, the other for the next question.
    const std::uint64_t awaited = link.beats + (starts ? 0 : 1);
    while (!(starts && i == 0) && dtutils::load_device_word(theirs) != awaited) {
    }
    stamps.take();
    *mine = ++link.beats;
    require(link.qp.post_write(from, to, i, flags));
    await_completion(link.sends);
  }
  while (starts && dtutils::load_device_word(theirs) != link.beats) {
  }
  return stamps.one_way_ns();
}

double send_latency(Link& link, bench::Batch& batch, std::uint32_t size) {
  const std::uint64_t rounds = batch.iterations();
  std::uint64_t* mine = last_word(link.outbox(), size);
  const dtutils::LocalBuffer from = link.from_outbox(0, size);
  const dtutils::LocalBuffer into = link.into_inbox(0, size);
  const unsigned flags = link.inline_flag(size) | dtutils::kSignaled;
  const bool starts = batch.rank() == 0;
  const auto receive = [&](std::uint64_t n, std::uint64_t awaited) {
    await_completion(link.receives);
    if (*last_word(link.inbox(), size) != awaited) {
      throw std::runtime_error("a message does not hold what was sent");
    }
    if (n + kReceivesAhead < rounds) require(link.qp.post_receive(into, n));
  };
  for (std::uint64_t n = 0; n < std::min(kReceivesAhead, rounds); ++n) {
    require(link.qp.post_receive(into, n));
  }
  batch.channel().barrier();
  Stamps stamps(rounds);
  for (std::uint64_t n = 0; n < rounds; ++n) {
    if (!starts) receive(n, link.beats + 1);
    if (starts && n != 0) receive(n - 1, link.beats);
    stamps.take();
    *mine = ++link.beats;
    require(link.qp.post_send(from, n, flags));
    await_completion(link.sends);
  }
  if (starts) receive(rounds - 1, link.beats);
  return stamps.one_way_ns();
}

}  // namespace link_bench
