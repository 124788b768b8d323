// SPDX-License-Identifier: MIT
// What the wire alone could do: the writes of calls, without calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "bench/fabric/node.hpp"
#include "bench/riutils/stream.hpp"
#include "dtutils/device_memory.hpp"

namespace ring_bench {

/// What process 1 does with the writes. On a machine's own memory it matters: bytes that nobody
/// looks at never leave the cache of the core that wrote them. A reader that rests gives the writer
/// the least trouble: it takes what has come in one go, changes each line, as the writer then gets
/// it back sooner, and leaves the memory alone for as long as a receiver of calls does at most.
enum class Reader { kNobody, kRests };

inline void rest() noexcept {
  constexpr double kRestNs = 16'000;
  for (const double until = bench::now_ns() + kRestNs; bench::now_ns() < until;) bench::relax();
}

/// Memory as large as a ring's, written in pieces of as many bytes as a call puts on the wire, one
/// after the other and then from the beginning. The last word of a piece may count them all.
template <std::size_t kBytes>
class Pieces {
 public:
  static constexpr std::uint32_t kSize = kBytes + 2 * riutils::detail::kRingWord;

  explicit Pieces(dsfabric::Thread& self) : area_(self, std::size_t{128} << 10) {
    std::memset(area_.data(), 0, area_.memory().size());
    self.barrier();
  }
  std::size_t after(std::size_t at) const noexcept {
    return at + 2 * kSize <= area_.memory().size() ? at + kSize : 0;
  }
  dtutils::LocalBuffer here(std::size_t at) const noexcept {
    return area_.memory().local(at, kSize);
  }
  /// All of them at another worker.
  const dtutils::RemoteMemoryLocator& there(dsfabric::ThreadId thread) const noexcept {
    return area_.at(thread);
  }
  void count(std::size_t at, std::uint64_t number) noexcept {
    std::memcpy(area_.data() + at + kSize - sizeof number, &number, sizeof number);
  }
  /// Takes piece `number`, if it or a later one is there: looks at its first word of payload, as
  /// the receiver of a call does at the least, and changes its lines, but not the word that counts.
  bool take(std::size_t at, std::uint64_t number) noexcept {
    const auto word = [&](std::size_t where) {
      return reinterpret_cast<std::uint64_t*>(area_.data() + at + where);
    };
    if (dtutils::load_device_word(word(kSize - sizeof number)) < number) return false;
    asm volatile("" ::"r"(*word(riutils::detail::kRingWord)));
    for (std::size_t where = 0; where < kSize - sizeof number; where += dtutils::kCacheLine) {
      dtutils::store_device_word(word(where), std::uint64_t{0});
    }
    dtutils::store_device_word(word(kSize - 2 * sizeof number), std::uint64_t{0});
    return true;
  }

 private:
  dsfabric::SymmetricBuffer area_;
};

/// The writes, through the Transmitter that calls take.
template <std::size_t kBytes, Reader kReader>
double write_raw(dsfabric::Thread& self, bench::Batch& batch) {
  Pieces<kBytes> pieces(self);
  double rate = 0;
  std::size_t at = 0;
  if (batch.rank() == 0) {
    const dsfabric::ThreadId to = self.neighbour(1);
    dtutils::Transmitter& transmitter = self.transmitter(to.process);
    const dtutils::RemoteMemoryLocator there = pieces.there(to);
    const unsigned flags = pieces.kSize <= transmitter.queue_pair().max_inline()
                               ? dtutils::kInlined
                               : dtutils::kUnsignaled;
    rate = batch.per_second([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        if constexpr (kReader == Reader::kRests) pieces.count(at, i + 1);
        require(transmitter.write(pieces.here(at), there.part(at, pieces.kSize), flags),
                "the peer is gone");
        at = pieces.after(at);
      }
      require(transmitter.flush(), "the peer is gone");
    });
  } else if (kReader == Reader::kRests) {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      while (!pieces.take(at, i + 1)) rest();
      at = pieces.after(at);
    }
  }
  self.barrier();
  return rate;
}

template <std::size_t kBytes, Reader kReader = Reader::kNobody>
bench::Variant raw_writes(const std::string& name, const fabric_bench::NodePtr& node) {
  const auto run = fabric_bench::on_worker(node, write_raw<kBytes, kReader>);
  return {.name = name, .measure = run, .assist = run};
}

}  // namespace ring_bench
