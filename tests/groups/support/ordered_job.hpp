// SPDX-License-Identifier: MIT
// What tests of ordered groups share: histories of all members, in memory that outlives them, and a
// checker of them; a member whose state proves itself.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "dtutils/wait.hpp"
#include "groups/groups.hpp"
#include "sst/support/table_job.hpp"
#include "support/random.hpp"

namespace support {

/// What the processes of one job delivered. Make it before the job.
class Histories {
 public:
  enum class Kind : std::uint8_t { kDelivery, kView, kRestored };
  struct Event {
    Kind kind;
    std::uint64_t view;
    /// Of a delivery: its own; of the others: that of the next delivery.
    std::uint64_t sequence;
    /// Of a delivery: sender << 32 | number. Of a view: its members, as bits.
    std::uint64_t what;
    /// A hash of all messages so far.
    std::uint64_t state;
    friend bool operator==(const Event&, const Event&) = default;
  };
  static constexpr std::size_t kMost = 1 << 20;
  /// A set of members is a word.
  static constexpr std::size_t kProcesses = 64;
  struct Process {
    std::atomic<std::uint64_t> count;
    Event events[kMost];
  };

  Histories()
      : all_(new(mmap(nullptr, sizeof(Process) * kProcesses, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) Process[kProcesses]) {}
  Histories(const Histories&) = delete;
  Histories& operator=(const Histories&) = delete;
  ~Histories() { munmap(all_, sizeof(Process) * kProcesses); }

  void add(std::uint32_t rank, const Event& event) const {
    Process& process = all_[rank];
    const std::uint64_t count = process.count.load(std::memory_order_relaxed);
    require(count < kMost, "the history has room");
    process.events[count] = event;
    process.count.store(count + 1, std::memory_order_release);
  }
  std::span<const Event> of(std::uint32_t rank) const {
    return {all_[rank].events, all_[rank].count.load(std::memory_order_acquire)};
  }

  /// Order, gaps, duplicates, FIFO, views, virtual synchrony, states of those that joined. Empty:
  /// all is well.
  std::string check(std::uint32_t processes) const;

 private:
  Process* all_;
};

/// One step of the hash of a history.
inline std::uint64_t chained(std::uint64_t state, std::uint64_t what) {
  return (state ^ what) * 0x9e3779b97f4a7c15u + (state >> 31) + 1;
}

inline std::string Histories::check(std::uint32_t processes) const {
  std::map<std::uint64_t, Event> order;
  std::map<std::uint64_t, Event> views;
  for (std::uint32_t rank = 0; rank < processes; ++rank) {
    std::uint64_t next = 1;
    std::uint64_t view = 0;
    for (const Event& event : of(rank)) {
      if (event.kind == Kind::kRestored) {
        next = event.sequence;
        view = 0;
        continue;
      }
      if (event.sequence != next) {
        return fmt::format("process {}: at {} after {} in view {}", rank, event.sequence, next,
                           event.view);
      }
      const bool delivery = event.kind == Kind::kDelivery;
      // Views begin at the same place of the order at all members, in the same state.
      const auto [known, fresh] = delivery ? order.try_emplace(event.sequence, event)
                                           : views.try_emplace(event.view, event);
      if (known->second != event) {
        return fmt::format("process {}: {:#x} in view {} at {}, elsewhere {:#x} in {} at {}", rank,
                           event.what, event.view, event.sequence, known->second.what,
                           known->second.view, known->second.sequence);
      }
      if (delivery) {
        ++next;
      } else if (view != 0 && event.view != view + 1) {
        return fmt::format("process {}: view {} after {}", rank, event.view, view);
      } else {
        view = event.view;
      }
    }
  }
  std::map<std::uint64_t, std::uint64_t> last;
  std::uint64_t expected = 1;
  for (const auto& [sequence, event] : order) {
    if (sequence != expected++) return fmt::format("nobody delivered message {}", expected - 1);
    const auto next = views.find(event.view + 1);
    if (next != views.end() && sequence >= next->second.sequence) {
      return fmt::format("somebody delivered message {} in view {}, behind its end at {}", sequence,
                         event.view, next->second.sequence);
    }
    std::uint64_t& number = last.try_emplace(event.what >> 32, 0).first->second;
    if ((event.what & 0xffffffffu) != ++number) {
      return fmt::format("message {} is {:#x}, and not number {} of its sender", sequence,
                         event.what, number);
    }
  }
  return "";
}

/// A group in a process that writes down its history. Its state is a hash of all messages, which
/// also travels to those that join, with `ballast` bytes more.
class OrderedPart {
 public:
  /// `words` are those of the job's memory.
  OrderedPart(sst::TableGroup& tables, std::atomic<std::uint64_t>* words,
              const Histories& histories, const groups::GroupOptions& options,
              std::size_t ballast = 0)
      : rank_(tables.fabric().process().value),
        words_(words),
        histories_(histories),
        ballast_(ballast),
        pace(tables.fabric()),
        ordered(tables, options, upcalls()) {}

  /// Messages accepted from this process.
  std::uint64_t sent = 0;
  /// How long it takes this process to take in a state.
  std::chrono::milliseconds restoring{0};
  /// States that this process has given.
  std::uint64_t snapshots = 0;

 private:
  const std::uint32_t rank_;
  std::atomic<std::uint64_t>* const words_;
  const Histories& histories_;
  std::size_t ballast_;
  std::uint64_t state_ = 0;

 public:
  sst::Pace pace;
  groups::OrderedGroup ordered;

  /// A message of at least 8 bytes.
  groups::SendStatus try_send(std::uint32_t bytes = 16) {
    const groups::Reservation slot = ordered.try_reserve(bytes);
    if (!slot) return slot.status;
    const std::uint64_t word = std::uint64_t{rank_} << 32 | (sent + 1);
    std::memset(slot.data, static_cast<int>(word), bytes);
    std::memcpy(slot.data, &word, sizeof word);
    require(ordered.commit(), "what was reserved can be committed");
    ++sent;
    return groups::SendStatus::kAccepted;
  }
  void step() { pace.after(ordered.progress()); }
  void progress_while(const std::function<bool()>& more, const std::string& what,
                      Where where = Where::current()) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (more()) {
      step();
      if (std::chrono::steady_clock::now() >= end) fail(what + ": " + ordered.describe(), where);
    }
  }
  /// Progress until so many processes have come to word `at` of the job's memory.
  void meet(std::size_t at, std::uint64_t processes, Where where = Where::current()) {
    words_[at]++;
    progress_while([&] { return words_[at] < processes; }, fmt::format("all come to {}", at),
                   where);
  }

 private:
  groups::GroupUpcalls upcalls() {
    using Kind = Histories::Kind;
    return {
        .deliver =
            [this](const groups::Delivery& message) {
              std::uint64_t word;
              require(message.bytes.size() >= sizeof word, "a message has its word");
              std::memcpy(&word, message.bytes.data(), sizeof word);
              require_equal(word >> 32, message.sender.value, "sender");
              for (std::size_t i = sizeof word; i < message.bytes.size(); ++i) {
                require(message.bytes[i] == static_cast<std::byte>(word), "its bytes");
              }
              state_ = chained(state_, word);
              histories_.add(rank_,
                             {Kind::kDelivery, message.view, message.sequence, word, state_});
            },
        .view =
            [this](const groups::View& view) {
              std::uint64_t bits = 0;
              for (const auto process : view.members) bits |= std::uint64_t{1} << process.value;
              histories_.add(rank_, {Kind::kView, view.id, ordered.next_sequence(), bits, state_});
            },
        .snapshot =
            [this](std::uint64_t) {
              ++snapshots;
              std::vector<std::byte> bytes(sizeof state_ + ballast_, std::byte{7});
              std::memcpy(bytes.data(), &state_, sizeof state_);
              return bytes;
            },
        .restore =
            [this](std::span<const std::byte> bytes, std::uint64_t next) {
              require_equal(bytes.size(), sizeof state_ + ballast_, "bytes of a state");
              for (std::size_t i = sizeof state_; i < bytes.size(); ++i) {
                require(bytes[i] == std::byte{7}, "the state is whole");
              }
              std::memcpy(&state_, bytes.data(), sizeof state_);
              dtutils::sleep_for(restoring);
              histories_.add(rank_, {Kind::kRestored, 0, next, 0, state_});
            }};
  }
};

/// A process with one such group.
class OrderedNode : public TableNode, public OrderedPart {
 public:
  OrderedNode(Member& job_member, const Histories& histories, const groups::GroupOptions& options,
              std::size_t ballast = 0)
      : TableNode(job_member),
        OrderedPart(group, job_member.memory.words, histories, options, ballast),
        member(job_member) {}

  Member& member;
};

/// Sends and makes progress as long as `more`.
inline void send_while(OrderedNode& node, const std::function<bool()>& more,
                       const std::string& what, Where where = Where::current()) {
  node.progress_while(
      [&] {
        for (int i = 0; i < 4; ++i) (void)node.try_send();
        return more();
      },
      what, where);
}

inline bool is_member(const OrderedNode& node) {
  const auto& members = node.ordered.view().members;
  return std::find(members.begin(), members.end(), node.ordered.process()) != members.end();
}

}  // namespace support
