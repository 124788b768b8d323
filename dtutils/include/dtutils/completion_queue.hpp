// SPDX-License-Identifier: MIT
// Completion queues, the channel a thread can sleep on, and completions explained in words.
#pragma once

#include <arpa/inet.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "dtutils/device.hpp"

namespace dtutils {

/// Explains a completion: what happened, the likely cause, and what to check. Allocates; not for
/// the data path. Any thread.
std::string describe(const ibv_wc& completion);
/// The short form for a bare status.
const char* describe(ibv_wc_status status) noexcept;
/// The immediate data of a receive completion, as the sender gave it: `ibv_wc::imm_data` itself is
/// in network byte order. Any thread.
inline std::uint32_t immediate_of(const ibv_wc& completion) noexcept {
  return ntohl(completion.imm_data);
}

/// Owns an ibv_comp_channel: lets a thread sleep until a completion arrives.
class CompletionChannel {
 public:
  /// Setup only.
  explicit CompletionChannel(Device& device)
      : device_(device), channel_(device.create_comp_channel()) {}
  CompletionChannel(const CompletionChannel&) = delete;
  CompletionChannel& operator=(const CompletionChannel&) = delete;
  ~CompletionChannel() { device_.destroy_comp_channel(channel_); }

  /// Sleeps until a queue of this channel that was armed has an event; nullptr when `timeout` is
  /// over. A sleeping call, one thread at a time.
  ibv_cq* wait(std::chrono::milliseconds timeout) { return device_.wait_event(channel_, timeout); }
  /// Readable when an event waits: for poll(2) and epoll(7).
  int fd() const noexcept { return channel_->fd; }
  /// The verbs object. Any thread, wait-free.
  ibv_comp_channel* raw() const noexcept { return channel_; }

 private:
  Device& device_;
  ibv_comp_channel* channel_;
};

/// Owns an ibv_cq of at least `depth` entries. A queue that overflows is broken for good:
/// `poll` then returns a negative number and the queue pairs that use it go to the error state.
class CompletionQueue {
 public:
  /// Setup only.
  CompletionQueue(Device& device, std::uint32_t depth, CompletionChannel* channel = nullptr)
      : device_(device),
        cq_(device.create_cq(static_cast<int>(depth), channel ? channel->raw() : nullptr)) {}
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;
  ~CompletionQueue() { device_.destroy_cq(cq_); }

  /// Takes up to `into.size()` completions: their number, 0 when there are none, negative when the
  /// queue has overflowed. Any thread, never waits.
  int poll(std::span<ibv_wc> into) noexcept {
    return ibv_poll_cq(cq_, static_cast<int>(into.size()), into.data());
  }

  /// Asks for one event on the channel at the next completion (at the next solicited or failed one
  /// if `solicited_only`). Poll once more after arming and before sleeping: what arrived before
  /// makes no event (ibv_req_notify_cq(3)). Any thread; may be a system call on hardware.
  bool arm(bool solicited_only = false) noexcept {
    return ibv_req_notify_cq(cq_, solicited_only ? 1 : 0) == 0;
  }

  /// The verbs object. Any thread, wait-free.
  ibv_cq* raw() const noexcept { return cq_; }

 private:
  Device& device_;
  ibv_cq* cq_;
};

}  // namespace dtutils
