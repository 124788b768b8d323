// SPDX-License-Identifier: MIT
// How messages come in, find the thread that runs them, and get their way out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dsfabric/message.hpp"
#include "dtutils/rdma_allocator.hpp"
#include "failure/failures.hpp"
#include "job/job_limits.hpp"
#include "job/members.hpp"
#include "mesh/connections.hpp"
#include "messages/receiver.hpp"
#include "threads/arrivals.hpp"
#include "threads/service_sleep.hpp"
#include "threads/thread_registry.hpp"
#include "threads/try_lock.hpp"

namespace dsfabric {

/// Thread contracts are those of the methods of Fabric and Thread that end here; a thread context
/// is that of the calling thread.
class MessageEngine {
 public:
  /// `fabric` is what message handlers get; `send_pages` has the memory of messages that do not go
  /// inline; `local_limit` the bytes that messages of the process to itself may take. Setup only.
  MessageEngine(Fabric& fabric, const Members& members, ThreadRegistry& threads,
                Connections& connections, Receiver& receiver, Failures& failures,
                const Arrivals& arrivals, ServiceSleep& service_sleep,
                dtutils::RDMAAllocator& send_pages, std::size_t local_limit) noexcept
      : fabric_(fabric),
        members_(members),
        threads_(threads),
        connections_(connections),
        receiver_(receiver),
        failures_(failures),
        arrivals_(arrivals),
        service_sleep_(service_sleep),
        send_pages_(send_pages),
        local_limit_(local_limit),
        // As many threads as share a Transmitter may come through make_room at once; none of them
        // may then find its window closed, where it could only wait without taking messages in.
        room_(dtutils::SignalingParameters::for_threads(connections.sharing_threads()).window -
              connections.sharing_threads()) {}
  MessageEngine(const MessageEngine&) = delete;
  MessageEngine& operator=(const MessageEngine&) = delete;

  /// Setup only.
  void set_handler(MessageKind kind, MessageHandler handler) {
    handlers_.at(static_cast<std::size_t>(kind)) = handler;
  }
  /// Bytes of a payload at most.
  std::uint32_t max_message() const noexcept {
    return static_cast<std::uint32_t>(receiver_.buffer_size() - sizeof(MessageHeader));
  }

  /// Takes messages in and runs those for the thread context.
  bool progress(ThreadContext& context);
  /// Takes in all messages that have come, of whatever thread, and puts them aside. Whoever had
  /// begun to look at one is through with that when it returns.
  void take_aside(ThreadContext& context);
  /// Waits until at most this process' other threads stand between a post and the send queue.
  void make_room(ThreadContext& context, dtutils::Transmitter& transmitter) {
    if (!has_room(transmitter)) [[unlikely]]
      wait_for_room(context, transmitter);
  }
  /// Whether nothing is left for a service thread, which has armed the completion queue and said
  /// that it sleeps: what comes from now on wakes it.
  bool nothing_to_serve(ThreadContext& context);

  /// Who sends a message, and on what.
  struct Way {
    ThreadContext* context = nullptr;
    /// None: the peer is gone.
    HeldTransmitter transmitter;
  };
  /// Of the calling thread to a process; there is room for one message then, if it goes through a
  /// device.
  Way way_to(ProcessId to);
  /// Memory for a message on `transmitter` that does not go inline.
  dtutils::RDMAMemory send_memory(ThreadContext& context, dtutils::Transmitter& transmitter,
                                  std::uint32_t bytes);
  /// Whether it is this process.
  bool is_here(ProcessId process) const noexcept { return process == members_.self(); }

  /// A buffer for a message of `bytes` bytes with its header, to this process. Waits while too many
  /// of them have not been run, but not in a handler, where none could be run. nullptr: the process
  /// has failed itself. Throws std::bad_alloc.
  ReceiveBuffer* local_buffer(ThreadContext& context, std::size_t bytes);
  /// Gives the message in such a buffer to a worker of this process, or to the service threads. It
  /// arrives behind all that the thread has posted to this process before. False: the message
  /// stays with the caller, since the process has failed itself.
  bool deliver_here(ThreadContext& context, ReceiveBuffer& buffer) noexcept;
  /// The message of a buffer that was in an inbox, or is not sent after all, is done with.
  void give_back(ThreadContext& context, ReceiveBuffer& buffer) noexcept;

 private:
  /// Called for each message that is sent: a worker takes messages in every few of them. One that
  /// only sends would let its shared receive queue run dry, and whoever sends to it would
  /// then wait for the device to try again.
  void keep_up(ThreadContext& context) {
    // Not in a handler: what it takes in could only be put aside, in more and more buffers.
    if (!context.working || context.in_handler) return;
    if (++context.sent_since_look >= kSendsPerLook) [[unlikely]]
      look_between_sends(context);
  }
  void look_between_sends(ThreadContext& context);
  bool has_room(const dtutils::Transmitter& transmitter) const noexcept {
    const dtutils::SelectiveSignaling& signaling = transmitter.signaling();
    return signaling.issued() - signaling.retired() < room_ || transmitter.broken();
  }
  void wait_for_room(ThreadContext& context, dtutils::Transmitter& transmitter);
  /// What a look for a message found; kElsewhere: another thread is at it.
  enum class Look { kNothing, kTaken, kElsewhere };
  Look take_one(ThreadContext& context);
  bool take_in(ThreadContext& context);
  bool run_inbox(ThreadContext& context, Inbox& inbox);
  bool run_service_inbox(ThreadContext& context);
  void run(ThreadContext& context, ReceiveBuffer& buffer);
  /// The buffer goes back where it comes from afterwards, also when the message handler throws.
  template <auto kBack>
  void run_then(ThreadContext& context, ReceiveBuffer& buffer);
  void post_again(ThreadContext& context, ReceiveBuffer& buffer) noexcept;
  /// Into the inbox of the worker that the message is for, or of the service threads.
  void put_aside(ReceiveBuffer& buffer) noexcept;
  /// Empty, or what is invalid in the header.
  const char* validate_header(const ibv_wc& completion, const MessageHeader& header) const noexcept;
  void report_corrupt(const ibv_wc& completion) noexcept;
  /// What is no message for a handler: a Farewell, or one that its sender fails for.
  void take_other(const ibv_wc& completion) noexcept;

  Fabric& fabric_;
  const Members& members_;
  ThreadRegistry& threads_;
  Connections& connections_;
  Receiver& receiver_;
  Failures& failures_;
  const Arrivals& arrivals_;
  ServiceSleep& service_sleep_;
  dtutils::RDMAAllocator& send_pages_;
  const std::size_t local_limit_;
  /// Requests that may be outstanding on a Transmitter when one more is posted.
  const std::uint64_t room_;

  std::array<MessageHandler, kMessageKinds> handlers_{};
  /// Messages for service threads that were taken in but not run.
  Inbox service_inbox_;
  TryLock service_taking_;
  std::atomic<std::uint32_t> service_waiting_{0};
};

inline MessageEngine::Way MessageEngine::way_to(ProcessId to) {
  if (!failures_.active(to)) return {};
  ThreadContext& context = threads_.mine();
  HeldTransmitter transmitter = connections_.hold(context, to);
  keep_up(context);
  if (!is_here(to)) make_room(context, *transmitter);
  return {&context, std::move(transmitter)};
}

}  // namespace dsfabric
