// SPDX-License-Identifier: MIT
// Node: documents that are invalidated, at all processes that answer.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dsfabric/send_channel.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "node.hpp"

namespace caching::detail {

using dsfabric::CallStatus;
using dsfabric::ThreadId;

void Node::count_invalidation(std::uint64_t key_hash) noexcept {
  std::atomic_ref epoch(peers_.own_bucket(peers_.bucket_of(key_hash)).epoch);
  epoch.fetch_add(1, std::memory_order_seq_cst);
}

void Node::forget_all() {
  for (std::uint32_t i = 0; i < peers_.buckets(); ++i) {
    std::atomic_ref(peers_.own_bucket(i).epoch).fetch_add(1, std::memory_order_seq_cst);
  }
  for (std::uint32_t from = 0; from != kNoEntry;) {
    Left left;
    from = local_.drop_from(from, left);
    take_out(left);
  }
}

bool ForgetRequest::operator()(dsfabric::CallContext& /*call*/) const {
  reinterpret_cast<Node*>(node)->forget_all();
  return true;
}

void Node::take_news(std::uint16_t source, const InvalidateRequest& request) {
  const std::size_t count = std::min<std::size_t>(request.lates, request.late.size());
  peers_.doubts().take(source, request.late_version, std::span(request.late).first(count));
}

bool InvalidateRequest::operator()(dsfabric::CallContext& call) const {
  Node& there = *reinterpret_cast<Node*>(node);
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(failures, kMostFailed); ++i) {
    const dsfabric::ProcessId process{failed[i]};
    if (!there.fabric().failed(process)) {
      there.fabric().fail(process, "another process of the cache has given it up");
    }
  }
  there.take_news(call.source.process.value, *this);
  if (round == Round::kCount) there.count_invalidation(key_hash);
  if (round == Round::kDrop) there.drop(key_hash);
  return true;
}

bool Node::invalidate(std::uint64_t key_hash) {
  using Round = InvalidateRequest::Round;
  if (!may_wait()) return false;
  InvalidateRequest request{0, key_hash, Round::kCount, 0, {}, 0, 0, 0, {}};
  // Who does not answer is not asked again, and does not keep the others from knowing: neither what
  // is invalidated, nor that its documents are not to be read.
  std::vector<bool> silent(peers_.count());
  // Who fails in the middle of a round is one more that all have to be told of: the round again.
  const auto all_know = [&] {
    for (std::uint32_t failed = ~0u; failed != request.failures;) {
      failed = request.failures = 0;
      for (std::uint16_t process = 0; process < peers_.count(); ++process) {
        if (!fabric().failed({process})) continue;
        if (request.failures == InvalidateRequest::kMostFailed) return false;
        request.failed[request.failures++] = process;
      }
      if (!late_.list(request)) return false;
      take_news(peers_.self(), request);
      for (std::uint16_t process = 0; process < peers_.count(); ++process) {
        if (process == peers_.self()) {
          request.round == Round::kCount ? count_invalidation(key_hash) : drop(key_hash);
        } else if (peers_.alive(process)) {
          request.node = peers_[process].node;
          if (late_.misses(process) || !ask_to_invalidate(process, request)) silent[process] = true;
        }
      }
      for (std::uint16_t process = 0; process < peers_.count(); ++process) {
        failed += fabric().failed({process}) ? 1 : 0;
      }
      if (late_.version() != request.late_version) failed = ~0u;
    }
    return true;
  };
  if (!all_know()) return false;
  request.round = Round::kDrop;
  if (!all_know()) return false;
  // Whoever has failed meanwhile is among those that all were told of.
  const auto told = std::span(request.failed).first(request.failures);
  for (std::uint16_t process = 0; process < peers_.count(); ++process) {
    if (silent[process] && fabric().state({process}) != dsfabric::PeerState::kLeft &&
        std::ranges::find(told, process) == told.end()) {
      return false;
    }
  }
  return true;
}

bool Node::ask_to_invalidate(std::uint16_t process, const InvalidateRequest& request) {
  dtutils::Backoff backoff;
  dtutils::Deadline deadline(options_.patience);
  const auto late = [&](std::unique_ptr<LatePeers::Slot> slot) {
    late_.timed_out(process, std::move(slot));
    wake_keeper();
    return false;
  };
  // A put has waited for it in vain.
  if (sweep_abandoned(process)) return late(nullptr);
  // One whose connection breaks fails soon, and then all have to be told: not before that it is
  // known not to answer.
  for (; peers_.alive(process) && !deadline.passed(); backoff.pause()) {
    auto slot = std::make_unique<LatePeers::Slot>(fabric());
    dsfabric::SendChannel calls(fabric());
    if (calls.call_return(ThreadId::service_of({process}), request, *slot) !=
        CallStatus::kAccepted) {
      continue;
    }
    if (slot->synchronizer().wait_for(options_.patience) ==
        dtutils::Synchronizer::Outcome::kTimeout) {
      return late(std::move(slot));
    }
    try {
      return slot->get();
    } catch (const dtutils::Error&) {
    }
  }
  return peers_.alive(process) ? late(nullptr) : false;
}

}  // namespace caching::detail
