// SPDX-License-Identifier: MIT
// Transmitter: set-up, posts that are not on the fast path, progress and waiting.
#include "dtutils/transmitter.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace dtutils {
namespace {

std::uint32_t hooks_for(const SignalingParameters& signaling) {
  // Every outstanding request, and one claimed slot for each thread that waits to post.
  const std::uint32_t slots = signaling.needed_send_depth() + signaling.sharing_threads;
  if (slots > detail::CompletionHooks::kMaxSlots / 2) {
    throw Error("transmitter", "the window and the number of threads are too large",
                "keep window + 2 * sharing_threads under 16384");
  }
  return slots;
}

std::uint64_t* allocate_results(std::uint32_t count) {
  const std::size_t bytes = (count * sizeof(std::uint64_t) + kPage - 1) / kPage * kPage;
  void* memory = std::aligned_alloc(kPage, bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return static_cast<std::uint64_t*>(memory);
}

SignalingParameters checked(const TransmitterOptions& options) {
  options.signaling.check(options.queue_pair.send_depth,
                          options.signaling.needed_completion_depth());
  return options.signaling;
}

}  // namespace

TransmitterOptions TransmitterOptions::for_threads(std::uint32_t threads) noexcept {
  TransmitterOptions options;
  options.signaling = SignalingParameters::for_threads(threads);
  options.queue_pair.send_depth =
      std::max(options.queue_pair.send_depth, options.signaling.needed_send_depth());
  return options;
}

Transmitter::Transmitter(ProtectionDomain& pd, CompletionQueue& receive_completions,
                         const TransmitterOptions& options)
    : signaling_(pd.make_signaling(checked(options))),
      hooks_(hooks_for(options.signaling)),
      results_(allocate_results(hooks_.slots())),
      result_region_(std::in_place, pd, results_.get(), hooks_.slots() * sizeof(std::uint64_t),
                     IBV_ACCESS_LOCAL_WRITE),
      result_key_(result_region_->lkey()),
      send_completions_(pd.device(), options.signaling.needed_completion_depth()),
      queue_pair_(pd, send_completions_, receive_completions, options.queue_pair) {
  qp_ = queue_pair_.raw();
}

Transmitter::~Transmitter() {
  while (progress()) {
  }
}

SelectiveSignaling::Admission Transmitter::wait_for_admission(std::uint64_t ticket) noexcept {
  Backoff backoff;
  for (;;) {
    // One completion for one request keeps up with the device without a pile of them at once.
    const bool found = progress();
    const Admission admission = signaling_.admit(ticket);
    if (admission != Admission::kWait) {
      return admission;
    }
    found ? backoff.reset() : backoff.pause();
  }
}

bool Transmitter::hand_over_admitted(ibv_send_wr& request, std::uint64_t ticket,
                                     unsigned flags) noexcept {
  const Admission admission = signaling_.below_signal_threshold(ticket)
                                  ? signaling_.admit(ticket)
                                  : wait_for_admission(ticket);
  if (admission == Admission::kBroken) return false;
  return hand_over(request, ticket,
                   flags | (admission == Admission::kSignaled ? IBV_SEND_SIGNALED : 0));
}

std::uint32_t Transmitter::claim(Synchronizer& synchronizer,
                                 detail::CompletionHooks::After after) noexcept {
  Backoff backoff;
  while (!broken()) {
    const std::uint32_t slot = hooks_.claim(synchronizer, signaling_.issued(), after);
    if (slot != detail::CompletionHooks::kNone) {
      return slot;
    }
    progress() ? backoff.reset() : backoff.pause();
  }
  synchronizer.fail();
  return detail::CompletionHooks::kNone;
}

bool Transmitter::transmit_tracked(ibv_send_wr& request, PostOptions options) noexcept {
  const std::uint32_t slot = claim(*options.sent, detail::CompletionHooks::After::kRelease);
  return slot != detail::CompletionHooks::kNone && transmit_in_slot(request, options.flags, slot);
}

bool Transmitter::transmit_in_slot(ibv_send_wr& request, unsigned flags,
                                   std::uint32_t slot) noexcept {
  const std::uint64_t ticket = signaling_.take();
  request.wr_id = ticket << kSlotBits | slot;
  request.send_flags = flags | IBV_SEND_SIGNALED;
  const bool posted = (signaling_.below_signal_threshold(ticket) ||
                       wait_for_admission(ticket) != Admission::kBroken) &&
                      hand_over(request);
  if (!posted) {
    hooks_.deliver(slot, false);
  }
  return posted;
}

bool Transmitter::blocking_read(LocalBuffer into, const RemoteMemoryLocator& from) noexcept {
  Synchronizer arrived(1);
  return read(into, from, arrived) && wait(arrived) == Synchronizer::Outcome::kDone;
}

std::optional<std::uint64_t> Transmitter::blocking_fetch_and_add(const RemoteMemoryLocator& target,
                                                                 std::uint64_t addend) noexcept {
  return blocking_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, target, addend, 0);
}

std::optional<std::uint64_t> Transmitter::blocking_compare_and_swap(
    const RemoteMemoryLocator& target, std::uint64_t expected, std::uint64_t desired) noexcept {
  return blocking_atomic(IBV_WR_ATOMIC_CMP_AND_SWP, target, expected, desired);
}

std::optional<std::uint64_t> Transmitter::blocking_atomic(ibv_wr_opcode opcode,
                                                          const RemoteMemoryLocator& target,
                                                          std::uint64_t compare_or_add,
                                                          std::uint64_t swap) noexcept {
  if (signaling_.exclusive()) {
    // Nobody else waits for an atomic, so the first result word is free, and no slot is needed to
    // find who waits: the ticket tells.
    const std::uint64_t ticket = signaling_.take();
    const LocalBuffer result{results_.get(), sizeof(std::uint64_t), result_key_};
    if ((!signaling_.below_signal_threshold(ticket) &&
         wait_for_admission(ticket) == Admission::kBroken) ||
        !hand_over(detail::WorkRequest(opcode, result).at(target, compare_or_add, swap).raw(),
                   ticket, IBV_SEND_SIGNALED)) {
      return std::nullopt;
    }
    Backoff backoff;
    while (signaling_.retired() <= ticket && !broken()) {
      progress() ? backoff.reset() : backoff.pause();
    }
    if (broken()) return std::nullopt;
    return load_device_word(results_.get());
  }
  Synchronizer arrived(1);
  const std::uint32_t slot = claim(arrived, detail::CompletionHooks::After::kHold);
  if (slot == detail::CompletionHooks::kNone) {
    return std::nullopt;
  }
  std::uint64_t* result = &results_[slot - 1];
  std::optional<std::uint64_t> old_value;
  if (transmit_in_slot(detail::WorkRequest(opcode, {result, sizeof(*result), result_key_})
                           .at(target, compare_or_add, swap)
                           .raw(),
                       kUnsignaled, slot) &&
      wait(arrived) == Synchronizer::Outcome::kDone) {
    old_value = load_device_word(result);
  }
  hooks_.release(slot);
  return old_value;
}

bool Transmitter::progress() noexcept {
  ibv_wc completion;
  const int polled = send_completions_.poll({&completion, 1});
  if (polled == 0) {
    if (broken()) [[unlikely]] {
      drain();
    }
    return false;
  }
  if (polled < 0) [[unlikely]] {
    // No completion will come any more, so nobody else would tell the Synchronizers.
    completion.status = IBV_WC_GENERAL_ERR;
    completion.opcode = IBV_WC_SEND;
    completion.vendor_err = 0;
    fail(completion);
    hooks_.fail_all();
    return false;
  }
  const bool success = completion.status == IBV_WC_SUCCESS;
  const auto slot = static_cast<std::uint32_t>(completion.wr_id & kSlotMask);
  if (slot == kDrainSlot) [[unlikely]] {
    signaling_.retire_all();
    return true;
  }
  if (success) {
    signaling_.retire(ticket_of(completion.wr_id));
  } else {
    fail(completion);
  }
  if (slot != detail::CompletionHooks::kNone) {
    hooks_.deliver(slot, success);
  }
  return true;
}

bool Transmitter::wait(RetireTag tag, std::chrono::nanoseconds timeout) noexcept {
  while (!tag.done() && progress()) {
  }
  if (!tag.done() && (!signaling_.owns(tag) || !write(LocalBuffer{}, {}, kSignaled))) {
    return false;
  }
  Deadline deadline(timeout);
  Backoff backoff;
  while (!tag.done() && !broken() && !deadline.passed()) {
    progress() ? backoff.reset() : backoff.pause();
  }
  return tag.done() && !broken();
}

Synchronizer::Outcome Transmitter::wait(const Synchronizer& synchronizer,
                                        std::chrono::nanoseconds timeout) noexcept {
  // Reading the clock takes as long as many of the operations that are waited for.
  constexpr int kPollsBeforeClock = 8;
  for (int polls = 0; polls < kPollsBeforeClock; ++polls) {
    if (const auto outcome = synchronizer.outcome()) return *outcome;
    (void)progress();
  }
  Deadline deadline(timeout);
  Backoff backoff;
  for (;;) {
    if (const auto outcome = synchronizer.outcome()) {
      return *outcome;
    }
    if (deadline.passed()) {
      return Synchronizer::Outcome::kTimeout;
    }
    progress() ? backoff.reset() : backoff.pause();
  }
}

std::uint64_t Transmitter::ticket_of(std::uint64_t wr_id) const noexcept {
  // Only the low 48 bits travel; the ticket is the number nearest to the counter that has them.
  const std::uint64_t near = signaling_.retired();
  const auto distance =
      static_cast<std::int64_t>((wr_id >> kSlotBits << kSlotBits) - (near << kSlotBits));
  return near + static_cast<std::uint64_t>(distance >> kSlotBits);
}

}  // namespace dtutils
