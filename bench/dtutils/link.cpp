// SPDX-License-Identifier: MIT
// Connecting, and checking what arrived.
#include "bench/dtutils/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>

namespace link_bench {
namespace {

constexpr std::uint64_t kAllSlots = std::uint64_t{256} << 10;

// The counter of process 0 that tells how many batches have ended.
constexpr int kEndedCounter = 0;

// Never 0, and another one in the next batch.
int content(std::uint64_t batch, std::uint64_t slot) noexcept {
  return static_cast<int>(1 + (batch + slot) % 255);
}

}  // namespace

Slots::Slots(std::uint32_t size, std::uint64_t max) noexcept
    : size_(size),
      stride_(std::bit_ceil(std::max<std::uint64_t>(size, bench::kCacheLine))),
      mask_(std::clamp<std::uint64_t>(kAllSlots / stride_, 1, max) - 1) {}

Link::Link(bench::Channel& channel, const std::string& device_name,
           const dtutils::QueuePairOptions& options)
    : device(dtutils::open_device(device_name)),
      pd(*device),
      segment(2 * kBoxSize, dtutils::PageKind::kSmall, -1),
      region(pd, segment.data(), segment.size()),
      sends(*device, options.send_depth),
      receives(*device, options.receive_depth),
      qp(pd, sends, receives, options) {
  connect(channel, qp);
  peer_inbox_ = channel.exchange(region.remote().part(kBoxSize, kBoxSize));
}

void Link::begin(const Slots& slots) noexcept {
  ++batches_;
  for (std::uint64_t i = 0; i < slots.count(); ++i) {
    std::memset(outbox() + slots.offset(i), content(batches_, i), slots.size());
  }
}

void Link::end(bench::Channel& channel) noexcept {
  // Release: partner of the acquire in inspect(); the device has placed all bytes before.
  channel.counter(0, kEndedCounter).store(batches_, std::memory_order_release);
}

void Link::inspect(bench::Channel& channel, const Slots& slots, std::uint64_t transfers) {
  constexpr std::chrono::milliseconds kLook{5};
  ++batches_;
  // Acquire: partner of the release in end().
  while (channel.counter(0, kEndedCounter).load(std::memory_order_acquire) != batches_) {
    std::this_thread::sleep_for(kLook);
  }
  for (std::uint64_t i = 0; i < std::min(transfers, slots.count()); ++i) {
    const std::span arrived(inbox() + slots.offset(i), slots.size());
    const std::byte wanted{static_cast<unsigned char>(content(batches_, i))};
    if (std::ranges::any_of(arrived, [&](std::byte byte) { return byte != wanted; })) {
      throw std::runtime_error(
          fmt::format("slot {} of {} bytes does not hold what was written", i, slots.size()));
    }
  }
}

void fail_post(dtutils::PostResult answer) {
  throw std::runtime_error(fmt::format("a post was refused, answer {}", static_cast<int>(answer)));
}

void fail_poll(int polled, const ibv_wc& completion) {
  throw std::runtime_error(polled < 0 ? "a completion queue has overflowed"
                                      : dtutils::describe(completion));
}

}  // namespace link_bench
