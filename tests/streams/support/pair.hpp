// SPDX-License-Identifier: MIT
// Streams for tests: two sides in one process, or one in each of two.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dtutils/protection_domain.hpp"
#include "dtutils/wait.hpp"
#include "streams/streams.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"
#include "support/random.hpp"
#include "support/require.hpp"
#include "support/threads.hpp"

namespace support {

/// A name that no other test has at the same time.
inline std::string fresh_name() {
  static std::atomic<int> count{0};
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(count.fetch_add(1));
}

/// A device and its domain.
struct Domain {
  std::unique_ptr<dtutils::Device> device = open_device_under_test();
  dtutils::ProtectionDomain pd{*device};
};

/// The flow controls that all promises hold for.
inline constexpr streams::StreamOptions kPacketizedStream{};
inline constexpr streams::StreamOptions kCreditStream{.flow = streams::FlowControl::kCredits};
inline constexpr streams::StreamOptions kZeroCopyStream{.flow = streams::FlowControl::kZeroCopy};

/// For tests of asynchronous sends. True on devices other than shm, which have none; then return.
[[nodiscard]] inline bool skipped_where_sends_are_synchronous() {
  if (open_device_under_test()->info().kind == dtutils::DeviceKind::kShm) return false;
  WARN("SKIPPED: no send is asynchronous on this device");
  return true;
}

/// Both sides of a stream, in one process.
struct StreamPair {
  explicit StreamPair(dtutils::ProtectionDomain& pd, const streams::StreamOptions& options = {}) {
    const std::string name = fresh_name();
    streams::Listener listener(pd, name, options);
    Threads threads;
    threads.start([&] { there = streams::connect(pd, name, kPatience, options); });
    here = listener.accept(kPatience);
    threads.join();
    require(here != nullptr, "nobody connected");
  }
  std::unique_ptr<streams::Stream> here;
  std::unique_ptr<streams::Stream> there;
};

/// The byte at a place of a stream, the same for all tests.
inline std::byte byte_at(std::uint64_t place) {
  return static_cast<std::byte>((place * 0x9e3779b97f4a7c15u) >> 56);
}
/// The bytes from a place on.
inline std::vector<std::byte> bytes_from(std::uint64_t place, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = byte_at(place + i);
  return bytes;
}
/// Whether these are the bytes from that place on.
inline bool are_from(std::uint64_t place, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != byte_at(place + i)) return false;
  }
  return true;
}

}  // namespace support
