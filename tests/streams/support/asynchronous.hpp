// SPDX-License-Identifier: MIT
// Asynchronous sends for tests.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "pair.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

namespace support {

constexpr streams::StreamOptions asynchronous_stream(streams::PageProtection protection) {
  return {.flow = streams::FlowControl::kZeroCopy, .asynchronous = true, .protection = protection};
}

/// More than what may be asynchronous, and whole pages.
inline constexpr std::size_t kSent = 2 * streams::kAsynchronousFrom;

/// The ways in which this process may protect memory.
inline std::vector<streams::PageProtection> permitted_protections() {
  std::vector<streams::PageProtection> ways{streams::PageProtection::kFaultSignal};
  if (streams::may_send_asynchronously()) ways.push_back(streams::PageProtection::kUserfaultfd);
  return ways;
}

/// Once for each of these ways: the options of a stream.
inline streams::StreamOptions some_asynchronous_stream() {
  return asynchronous_stream(GENERATE(from_range(permitted_protections())));
}

/// Whole pages that nothing else lies in.
class Pages {
 public:
  explicit Pages(std::size_t size)
      : data_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        size_(size) {
    require(data_ != MAP_FAILED, "there is no memory");
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { unmap(); }

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), size_}; }
  void unmap() {
    munmap(data_, size_);
    size_ = 0;
  }

 private:
  void* data_;
  std::size_t size_;
};

/// Writes the bytes of a stream from that place on.
inline void put_bytes(std::span<std::byte> into, std::uint64_t place) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = byte_at(place + i);
}

/// Receives `count` bytes from that place of the stream on.
inline void receive_bytes(streams::Stream& stream, std::uint64_t place, std::size_t count) {
  std::vector<std::byte> into(std::min<std::size_t>(count, 50'000));
  for (std::size_t done = 0; done < count;) {
    const streams::Result result =
        stream.receive(std::span(into).first(std::min(into.size(), count - done)), kPatience);
    require(result.status == streams::Status::kOk, "a receive failed");
    require(are_from(place + done, std::span(into).first(result.bytes)), "other bytes came");
    done += result.bytes;
  }
}

/// Two ends of a stream in this process, once for each way of protection, and pages with its first
/// bytes.
struct SentPages {
  explicit SentPages(std::size_t size = kSent) : pages(size) { put_bytes(pages.bytes(), 0); }

  /// Returns before the peer has read.
  void send() { CHECK(pair.here->send(pages.bytes().first(kSent), kPatience).bytes == kSent); }

  const streams::StreamOptions options = some_asynchronous_stream();
  Domain domain;
  StreamPair pair{domain.pd, options};
  Pages pages;
};

}  // namespace support
