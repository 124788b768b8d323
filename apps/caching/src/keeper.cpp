// SPDX-License-Identifier: MIT
// Node: its keeper, who lists documents again when the process that had their words has failed, and
// looks after those that do not answer.
#include <chrono>
#include <memory>
#include <utility>

#include "block.hpp"
#include "dsfabric/send_channel.hpp"
#include "held.hpp"
#include "node.hpp"

namespace caching::detail {
namespace {

/// Between two looks at processes that are late.
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

void Node::notice_failure(std::uint16_t process) noexcept {
  try {
    const std::scoped_lock lock(keeper_mutex_);
    failed_.push_back(process);
  } catch (const std::bad_alloc&) {
    return;  // its words are lost: neighbours miss these documents until they are put again
  }
  keeper_wake_.notify_one();
}

void Node::keep_listed() {
  std::unique_lock lock(keeper_mutex_);
  for (;;) {
    const auto ready = [&] { return ending_ || !failed_.empty(); };
    if (some_late_) {
      keeper_wake_.wait_for(lock, kLook, ready);
    } else {
      keeper_wake_.wait(lock, [&] { return ready() || some_late_; });
    }
    if (ending_) return;
    std::optional<std::uint16_t> dead;
    if (!failed_.empty()) {
      dead = failed_.back();
      failed_.pop_back();
    }
    // Before the look: who becomes late meanwhile says so again.
    const bool look = std::exchange(some_late_, false);
    lock.unlock();
    if (dead) list_again(*dead);
    const bool again = look && look_after_late();
    lock.lock();
    some_late_ = some_late_ || again;
  }
}

void Node::list_again(std::uint16_t dead) {
  for (std::uint32_t number = 0;; ++number) {
    if (closed_.load(std::memory_order_acquire)) break;
    number = local_.take_listed_at(dead, number);
    if (number == kNoEntry) break;
    const Held held(local_, number);
    const Block block(local_.block(number));
    const Name name = name_of(block.key(), block.variant());
    Peers::Scratch scratch(peers_);
    const std::scoped_lock listing(listing_of(name));
    // Else another one has taken its place meanwhile, and the word.
    if (local_.entry(number).state != State::kShown) continue;
    try {
      list(number, name, false, scratch);
    } catch (const std::exception&) {
      break;  // no memory for this thread's connections
    }
  }
}

void Node::wake_keeper() {
  {
    const std::scoped_lock lock(keeper_mutex_);
    some_late_ = true;
  }
  keeper_wake_.notify_one();
}

bool Node::look_after_late() {
  told_.resize(peers_.count(), 1);
  for (std::uint16_t process = 0; process < peers_.count(); ++process) {
    if (closed_.load(std::memory_order_acquire)) return false;
    if (!late_.is_late(process)) continue;
    if (!peers_.alive(process)) {
      late_.forget(process);
    } else if (late_.look(process) == LatePeers::Next::kAskToForget) {
      try {
        auto slot = std::make_unique<LatePeers::Slot>(fabric());
        dsfabric::SendChannel calls(fabric());
        const bool asked = calls.call_return(dsfabric::ThreadId::service_of({process}),
                                             ForgetRequest{peers_[process].node},
                                             *slot) == dsfabric::CallStatus::kAccepted;
        // Not asked: it has still missed something.
        late_.asked(process, asked ? std::move(slot) : nullptr);
      } catch (const std::exception&) {
        late_.asked(process, nullptr);
      }
    }
  }
  bool news = false;
  for (std::uint16_t process = 0; process < peers_.count(); ++process) {
    if (closed_.load(std::memory_order_acquire)) return false;
    const bool asked = peers_.alive(process) && !late_.is_late(process);
    if (asked && told_[process] != late_.version()) tell_news(process);
    news = news || (asked && told_[process] != late_.version());
  }
  return news || late_.any();
}

void Node::tell_news(std::uint16_t process) {
  InvalidateRequest request{
      peers_[process].node, 0, InvalidateRequest::Round::kNews, 0, {}, 0, 0, 0, {}};
  // Too many to be told of: those who know of some go on without them.
  if (!late_.list(request)) return;
  if (process == peers_.self()) {
    take_news(process, request);
    told_[process] = request.late_version;
    return;
  }
  try {
    if (ask_to_invalidate(process, request)) told_[process] = request.late_version;
  } catch (const std::exception&) {
    // No memory, or what a handler threw that ran meanwhile: again later.
  }
}

void Node::close() {
  closed_.store(true, std::memory_order_release);
  {
    const std::scoped_lock lock(keeper_mutex_);
    ending_ = true;
  }
  keeper_wake_.notify_one();
  if (keeper_.joinable()) keeper_.join();
}

}  // namespace caching::detail
