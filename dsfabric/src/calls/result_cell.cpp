// SPDX-License-Identifier: MIT
// ResultCell: waiting for a result, and why a call has none.
#include "dsfabric/detail/result_cell.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "dsfabric/detail/inside.hpp"
#include "dsfabric/travels.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "dtutils/wait_hook.hpp"
#include "job/job_limits.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric::detail {
namespace {

/// The first answer of a process needs its service thread, which sleeps, while others may compute
/// on all cores; this thread leaves its own to it.
void sleep_until_first_answer(const dtutils::Synchronizer& word) {
  dtutils::Backoff backoff(0);
  for (unsigned i = 0; i < dtutils::kSpinPolls + kFirstAnswerSleeps && !word.done(); ++i) {
    dtutils::run_wait_hook(word) ? backoff.reset() : backoff.pause();
  }
}

}  // namespace

std::span<const std::byte> packed_result(const std::byte* value) {
  std::uint64_t bytes;
  std::memcpy(&bytes, value, sizeof bytes);
  if (bytes > kMaxPackedResult) throw CorruptBytes();
  return {value + sizeof bytes, bytes};
}

void throw_pending(std::string_view where) {
  throw dtutils::Error(fmt::format("call with {}", where),
                       "an earlier call has not ended yet, whose result goes there too",
                       "wait for that one first (get(), wait()), or use one for each call that is "
                       "on its way");
}

void ResultCell::wait_until_done(std::string_view what) {
  require_may_wait(fabric_, what);
  ThreadContext* const context = Inside::threads(fabric_).known();
  if (context != nullptr && std::exchange(context->has_connected, false)) [[unlikely]] {
    sleep_until_first_answer(*word_);
  }
  (void)word_->wait();
}

void ResultCell::throw_failure() const {
  if (failure_->thrown) {
    throw dtutils::Error("remote call", failure_->text.data(),
                         "the callable threw; see its own code");
  }
  const PeerState state = fabric_.state(peer_);
  if (gone_ || state != PeerState::kActive) {
    throw PeerFailed(peer_, "a call with a result",
                     state == PeerState::kFailed ? fabric_.failure_reason(peer_)
                     : state == PeerState::kLeft ? "it has left"
                                                 : "the connection to it has broken");
  }
  throw dtutils::Error("remote call",
                       "it was not accepted (CallStatus::kFull): there was no room for it, or too "
                       "many calls of this process wait for a result",
                       "take results that have come, make progress, and call again; "
                       "RemoteFuture::status() tells it without an exception");
}

void ResultCell::throw_corrupt() const {
  constexpr const char* kWhy = "a result that it sent is invalid";
  fabric_.fail(peer_, kWhy);
  throw PeerFailed(peer_, "a call with a result", kWhy);
}

}  // namespace dsfabric::detail
