// SPDX-License-Identifier: MIT
// What tests of messages share: numbered messages, who counts them, and a job that does.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>

#include "dsfabric/support/fork_job.hpp"
#include "support/catch.hpp"

namespace support {

inline constexpr dsfabric::MessageKind kTestMessage = dsfabric::MessageKind::kFirstFree;

/// Counts what arrives and checks that each sender's numbers come in order.
struct Counter {
  struct Sender {
    std::uint64_t next = 0;
  };
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> wrong{0};
  /// By receiving worker and sending process.
  Sender senders[4][kMaxProcesses][4];

  static bool run(void* self, const dsfabric::Incoming& message) {
    auto& counter = *static_cast<Counter*>(self);
    std::uint64_t number;
    std::memcpy(&number, message.payload.data(), sizeof number);
    if (message.worker != nullptr && !message.source.is_service()) {
      Sender& sender = counter.senders[message.worker->id().index][message.source.process.value]
                                      [message.source.index];
      counter.wrong += number != sender.next++;
    }
    for (const std::byte byte : message.payload.subspan(sizeof number)) {
      counter.wrong += byte != static_cast<std::byte>(number);
    }
    ++counter.received;
    return true;
  }
};

/// Of `bytes`, which begin with the number and repeat its last byte. False when the peer is gone.
inline bool send(dsfabric::Fabric& fabric, dsfabric::ThreadId to, std::uint64_t number,
                 std::uint32_t bytes = 8) {
  dsfabric::SendSpace space(fabric, to.process, bytes);
  if (!space) return false;
  std::memset(space.payload(), static_cast<int>(number & 0xff), bytes);
  std::memcpy(space.payload(), &number, sizeof number);
  return space.commit(kTestMessage, to);
}

/// Runs a job whose processes count what arrives.
inline void in_counting_job(std::uint32_t processes, const dsfabric::Config& config,
                            const std::function<void(Member&, dsfabric::Fabric&, Counter&)>& body) {
  ForkJob job(processes, [&](Member& member) {
    dsfabric::Fabric fabric = member.join(config);
    Counter counter;
    fabric.set_message_handler(kTestMessage, {Counter::run, &counter});
    body(member, fabric, counter);
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}
inline void in_counting_job(std::uint32_t processes, std::uint32_t threads,
                            const std::function<void(Member&, dsfabric::Fabric&, Counter&)>& body) {
  dsfabric::Config config;
  config.threads = threads;
  in_counting_job(processes, config, body);
}

}  // namespace support
