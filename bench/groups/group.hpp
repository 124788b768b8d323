// SPDX-License-Identifier: MIT
// A multicast that lives as long as a case, and the streams through it that cases measure.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bench/groups/cases.hpp"

namespace groups_bench {

inline void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

/// Members are the first processes; the others have none of it. Messages carry a number in their
/// first word; deliveries add the numbers up.
class Group {
 public:
  /// A collective of the members; nothing at the others. `bytes`: of each message.
  void make(sst_bench::Node& node, std::uint32_t members, std::uint32_t bytes, sst::Order order,
            std::vector<dsfabric::ProcessId> senders = {}) {
    bytes_ = bytes;
    members_ = members;
    if (node.fabric.process().value >= members) return;
    multicast_ = std::make_unique<Multicast>(
        node.group,
        sst::MulticastOptions{.members = sst_bench::first_processes(members),
                              .senders = std::move(senders),
                              .order = order,
                              .max_message = bytes},
        Count{this});
    pace_.emplace(node.fabric, multicast_->table().options().members);
    delivered_ = sum_ = 0;
  }
  void reset() {
    pace_.reset();
    multicast_.reset();
  }
  explicit operator bool() const noexcept { return multicast_ != nullptr; }
  std::uint32_t bytes() const noexcept { return bytes_; }
  std::uint32_t members() const noexcept { return members_; }

  /// One message, if there is a slot.
  bool try_send(std::uint64_t number) noexcept {
    const sst::Reservation slot = multicast_->try_reserve(bytes_);
    if (!slot) return false;
    // As if the bytes came from elsewhere: those of a small message are built anew.
    std::memcpy(slot.data, &number, sizeof number);
    if (bytes_ == 2 * sizeof number) std::memcpy(slot.data + sizeof number, &number, sizeof number);
    multicast_->commit();
    return true;
  }
  /// So many messages, numbered from 0, until all members have delivered them. The others evaluate.
  void send(std::uint64_t messages, bool crowded) {
    std::uint64_t sent = 0;
    while (sent < messages) {
      while (sent < messages && try_send(sent)) ++sent;
      step(crowded);
    }
    multicast_->flush();
    while (multicast_->delivered_by_all() != multicast_->sent()) step(crowded);
  }
  /// Until so many messages have been delivered here since the last call.
  void receive(std::uint64_t messages, bool crowded) {
    while (delivered_ < messages) step(crowded);
    delivered_ -= messages;
  }
  /// At the end of a batch, in every process: members evaluate until all of them have come to it,
  /// for counters of one may still have to be told.
  void end(bench::Channel& channel) {
    const std::uint64_t batches = ++channel.counter(channel.rank(), 0);
    for (int i = 0; multicast_ && i < static_cast<int>(members_); ++i) {
      while (channel.counter(i, 0) < batches) step(true);
    }
  }
  std::uint64_t take_sum() noexcept { return std::exchange(sum_, 0); }
  std::uint64_t delivered() const noexcept { return delivered_; }
  void flush() noexcept { multicast_->flush(); }
  void evaluate() { multicast_->evaluate(); }
  void step(bool crowded) {
    const bool busy = multicast_->evaluate();
    if (crowded) pace_->after(busy);
  }

 private:
  struct Count {
    Group* group;
    void operator()(const sst::Message& message) const noexcept {
      std::uint64_t number;
      std::memcpy(&number, message.data, sizeof number);
      ++group->delivered_;
      group->sum_ += number;
    }
  };
  using Multicast = sst::Multicast<Count>;

  std::uint32_t bytes_ = 0;
  std::uint32_t members_ = 0;
  std::unique_ptr<Multicast> multicast_;
  std::optional<sst::Pace> pace_;
  std::uint64_t delivered_ = 0;
  std::uint64_t sum_ = 0;
};
using GroupPtr = std::shared_ptr<Group>;

/// Sum of the numbers of a stream.
inline std::uint64_t sum_of(std::uint64_t messages) noexcept {
  return messages * (messages - 1) / 2;
}

/// Messages a second from process 0 to process 1, until process 0 knows that all are delivered.
inline double stream(Group& group, bench::Batch& batch) {
  if (!group) return group.end(batch.channel()), 0;
  const std::uint64_t messages = batch.iterations();
  sst_bench::let_others_fall_asleep();
  double rate = 0;
  if (batch.rank() == 0) {
    rate = batch.per_second([&] { group.send(messages, false); });
  } else {
    group.receive(messages, false);
    require(group.take_sum() == sum_of(messages), "messages were lost or changed on their way");
  }
  group.end(batch.channel());
  return rate;
}

}  // namespace groups_bench
