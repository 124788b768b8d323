// SPDX-License-Identifier: MIT
// Node: its keeper, who lists documents again when the process that had their words has failed.
#include "block.hpp"
#include "held.hpp"
#include "node.hpp"

namespace caching::detail {

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
    keeper_wake_.wait(lock, [&] { return ending_ || !failed_.empty(); });
    if (ending_) return;
    const std::uint16_t dead = failed_.back();
    failed_.pop_back();
    lock.unlock();
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
    lock.lock();
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
