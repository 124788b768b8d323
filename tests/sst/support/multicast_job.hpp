// SPDX-License-Identifier: MIT
// What tests of multicasts share: messages that prove themselves, and a checker of what members
// delivered, the dead included.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <string>

#include "dtutils/clock.hpp"
#include "sst/support/table_job.hpp"
#include "support/random.hpp"

namespace support {

/// A message is a word that says who sent it and which one it is, and more bytes that follow from
/// that. At least 8 bytes.
class TestMessage {
 public:
  static constexpr std::uint32_t kLeast = sizeof(std::uint64_t);

  static void build(std::byte* to, std::uint32_t bytes, std::uint64_t sender,
                    std::uint64_t number) {
    const std::uint64_t word = sender << 32 | number;
    std::memcpy(to, &word, sizeof word);
    for (std::uint32_t i = kLeast; i < bytes; ++i) to[i] = filling(word, bytes, i);
  }
  /// The word. Fails when the rest does not follow from it.
  static std::uint64_t read(const sst::Message& message) {
    require(message.size >= kLeast, "a message has its word");
    std::uint64_t word;
    std::memcpy(&word, message.data, sizeof word);
    for (std::uint32_t i = kLeast; i < message.size; ++i) {
      if (message.data[i] != filling(word, message.size, i)) {
        fail(fmt::format("message {:#x} of {} bytes is wrong at {}", word, message.size, i));
      }
    }
    return word;
  }

 private:
  static std::byte filling(std::uint64_t word, std::uint32_t bytes, std::uint32_t at) {
    return static_cast<std::byte>(word * 31 + (word >> 32) * 7 + bytes + at);
  }
};

/// What each member delivered, in memory that the test shares with its job. Make it before the job.
class DeliveryLog {
 public:
  static constexpr std::size_t kMost = 1 << 17;
  struct Member {
    std::atomic<std::uint64_t> count;
    /// One more than the position delivered last, and positions that had come in all; set at the
    /// end, by those that live.
    std::atomic<std::uint64_t> delivered;
    std::atomic<std::uint64_t> received;
    std::uint64_t words[kMost];
  };

  explicit DeliveryLog(std::uint32_t members)
      : members_(members),
        logs_(new(mmap(nullptr, sizeof(Member) * kMaxProcesses, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) Member[kMaxProcesses]) {}
  DeliveryLog(const DeliveryLog&) = delete;
  DeliveryLog& operator=(const DeliveryLog&) = delete;
  ~DeliveryLog() { munmap(logs_, sizeof(Member) * kMaxProcesses); }

  Member& of(std::uint32_t rank) const { return logs_[rank]; }
  /// In a member's delivery.
  void add(std::uint32_t rank, const sst::Message& message) const {
    Member& log = logs_[rank];
    const std::uint64_t word = TestMessage::read(message);
    const std::uint64_t count = log.count.load(std::memory_order_relaxed);
    require(count < kMost, "the log has room");
    require_equal(word >> 32, message.sender.value, "sender");
    log.words[count] = word;
    log.delivered = message.number + 1;
    log.count.store(count + 1, std::memory_order_release);
  }

  /// Of each sender: its messages 0, 1, 2, ... without a gap, and none twice. Empty: all is well.
  std::string check_each_sender() const {
    for (std::uint32_t rank = 0; rank < members_; ++rank) {
      std::array<std::uint64_t, kMaxProcesses> next{};
      for (std::uint64_t i = 0; i < logs_[rank].count; ++i) {
        const std::uint64_t word = logs_[rank].words[i];
        if (static_cast<std::uint32_t>(word) != next[word >> 32]++) {
          return fmt::format("member {} delivered {:#x} out of its place", rank, word);
        }
      }
    }
    return "";
  }
  /// What one member delivered begins with all that another one delivered, or the other way round.
  std::string check_same_order() const {
    for (std::uint32_t a = 0; a < members_; ++a) {
      for (std::uint32_t b = a + 1; b < members_; ++b) {
        const std::uint64_t both = std::min(logs_[a].count.load(), logs_[b].count.load());
        for (std::uint64_t i = 0; i < both; ++i) {
          if (logs_[a].words[i] != logs_[b].words[i]) {
            return fmt::format("members {} and {} differ at {}: {:#x}, {:#x}", a, b, i,
                               logs_[a].words[i], logs_[b].words[i]);
          }
        }
      }
    }
    return "";
  }
  /// What any member delivered has come to every one that lived to the end.
  std::string check_uniform() const {
    std::uint64_t most = 0;
    for (std::uint32_t rank = 0; rank < members_; ++rank) {
      most = std::max(most, logs_[rank].delivered.load());
    }
    for (std::uint32_t rank = 0; rank < members_; ++rank) {
      if (logs_[rank].received != 0 && logs_[rank].received < most) {
        return fmt::format("member {} has received {} of {} positions that were delivered", rank,
                           logs_[rank].received.load(), most);
      }
    }
    return "";
  }

 private:
  std::uint32_t members_;
  Member* logs_;
};

/// A member with a multicast that logs what it delivers.
struct MulticastNode : TableNode {
  using Also = std::function<void(const sst::Message&)>;
  struct Log {
    MulticastNode* node;
    void operator()(const sst::Message& message) const {
      node->log.add(node->member.rank, message);
      if (node->also) node->also(message);
    }
  };

  MulticastNode(Member& job_member, const DeliveryLog& job_log,
                const sst::MulticastOptions& options, Also also_do = {})
      : TableNode(job_member),
        member(job_member),
        log(job_log),
        also(std::move(also_do)),
        multicast(group, options, Log{this}),
        pace(fabric) {}

  /// Builds the next message in place, and commits it, if there is room.
  sst::SendStatus try_send(std::uint32_t bytes) {
    const sst::Reservation slot = multicast.try_reserve(bytes);
    if (!slot) return slot.status;
    TestMessage::build(slot.data, bytes, multicast.table().self().value, sent);
    require(multicast.commit(), "what was reserved can be committed");
    ++sent;
    return sst::SendStatus::kAccepted;
  }
  std::uint64_t delivered() const { return log.of(member.rank).count; }
  void step() { pace.after(multicast.evaluate()); }
  void evaluate_while(const std::function<bool()>& more, const std::string& what,
                      Where where = Where::current()) {
    const auto end = dtutils::Clock::now() + kPatience;
    while (more()) {
      step();
      if (dtutils::Clock::now() >= end) {
        fail(fmt::format("{}: {} sent, {} by all, {} delivered, {}", what, multicast.sent(),
                         multicast.delivered_by_all(), delivered(), multicast.why_stopped()),
             where);
      }
    }
  }
  /// Sends so many messages of random sizes up to `largest`, evaluating meanwhile.
  void send_all(std::uint64_t messages, std::uint32_t largest, Random& random) {
    evaluate_while(
        [&] {
          while (sent < messages && !random.one_in(32)) {
            const auto bytes = static_cast<std::uint32_t>(
                TestMessage::kLeast + random.below(largest - TestMessage::kLeast + 1));
            const sst::SendStatus status = try_send(bytes);
            if (status == sst::SendStatus::kFull) break;
            require(status, "sending");
          }
          return sent < messages;
        },
        "all are sent");
  }
  /// Evaluates until all have come to word `at` of the job's memory, for others need this member.
  void meet(std::size_t at) {
    member.memory.words[at]++;
    evaluate_while([&] { return member.memory.words[at] < member.size; }, "all come");
  }

  Member& member;
  const DeliveryLog& log;
  Also also;
  std::uint64_t sent = 0;
  sst::Multicast<Log> multicast;
  sst::Pace pace;
};

}  // namespace support
