// SPDX-License-Identifier: MIT
// The yardstick: a write by hand, and a loop that looks for it, with no table in sight.
#pragma once

#include <cstdint>

#include "bench/dtutils/hand_signaling.hpp"
#include "bench/sst/node.hpp"
#include "dtutils/completion_queue.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/queue_pair.hpp"

namespace sst_bench {

/// A queue pair between processes 0 and 1, and a word at each that the other one writes.
class RawPair {
 public:
  RawPair(bench::Channel& channel, Node& node)
      : completions_(node.fabric.protection_domain().device(), dtutils::kSendDepth),
        pair_(node.fabric.protection_domain(), completions_, completions_),
        memory_(node.fabric.general_allocator().allocate(2 * bench::kCacheLine)) {
    theirs() = 0;
    struct Hello {
      dtutils::Endpoint endpoint;
      dtutils::RemoteMemoryLocator memory;
    };
    const auto all = channel.gather(Hello{pair_.endpoint(), memory_.remote()});
    if (channel.rank() < 2) {
      const Hello& other = all[1 - static_cast<std::size_t>(channel.rank())];
      pair_.connect(other.endpoint);
      to_ = other.memory.part(0, sizeof(std::uint64_t));
    }
    channel.barrier();
  }

  /// Both processes: `rounds` times there and back; process 0 begins.
  void ping_pong(bool starts, std::uint64_t rounds) {
    const auto await = [&] {
      ibv_wc completion;
      while (completions_.poll({&completion, 1}) == 0) {
      }
    };
    link_bench::HandSignaling signaling;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      ++beat_;
      while (!starts && dtutils::load_device_word(&theirs()) != beat_) {
      }
      (void)pair_.post_write({&beat_, sizeof beat_, 0}, to_, i,
                             dtutils::kInlined | signaling.next(await));
      while (starts && dtutils::load_device_word(&theirs()) != beat_) {
      }
    }
    signaling.drain(await);
  }

 private:
  std::uint64_t& theirs() noexcept { return *reinterpret_cast<std::uint64_t*>(memory_.data()); }

  dtutils::CompletionQueue completions_;
  dtutils::QueuePair pair_;
  dtutils::RDMAMemory memory_;
  dtutils::RemoteMemoryLocator to_{};
  std::uint64_t beat_ = 0;
};

}  // namespace sst_bench
