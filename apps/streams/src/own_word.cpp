// SPDX-License-Identifier: MIT
// Compare-and-swap by the processor, or by the device.
#include "own_word.hpp"

#include <array>

#include "board.hpp"
#include "dtutils/wait.hpp"

namespace streams {
namespace {

dtutils::QueuePairOptions loop_options() {
  dtutils::QueuePairOptions options;
  options.send_depth = 1;
  options.receive_depth = 1;
  options.scatter_gather = 1;
  options.max_inline = 0;
  options.exclusive = true;
  return options;
}

}  // namespace

OwnWord::Loop::Loop(dtutils::ProtectionDomain& domain)
    : completions(domain.device(), 2), pair(domain, completions, completions, loop_options()) {
  pair.connect(pair.endpoint());
}

OwnWord::OwnWord(dtutils::ProtectionDomain& domain, const dtutils::MemoryRegion& region,
                 std::uint64_t& word, std::uint64_t& answer, bool by_device)
    : word_(word), answer_(answer), region_(region) {
  if (by_device) loop_ = std::make_unique<Loop>(domain);
}

bool OwnWord::compare_exchange(std::uint64_t& expected, std::uint64_t desired) noexcept {
  if (loop_ == nullptr) {
    return std::atomic_ref(word_).compare_exchange_strong(expected, desired);
  }
  if (broken_) return false;
  const auto part = [this](std::uint64_t& of) {
    return static_cast<std::size_t>(reinterpret_cast<std::byte*>(&of) - region_.data());
  };
  const auto old_value = region_.local(part(answer_), sizeof answer_);
  const auto target = region_.remote().part(part(word_), sizeof word_);
  if (loop_->pair.post_compare_and_swap(old_value, target, expected, desired, 0,
                                        dtutils::kSignaled) != dtutils::PostResult::kOk) {
    broken_ = true;
    return false;
  }
  dtutils::Backoff backoff;
  std::array<ibv_wc, 1> completion;
  int count = 0;
  while ((count = loop_->completions.poll(completion)) == 0) backoff.pause();
  if (count < 0 || completion[0].status != IBV_WC_SUCCESS) {
    broken_ = true;
    return false;
  }
  const std::uint64_t found = streams::load(answer_);
  const bool swapped = found == expected;
  expected = found;
  return swapped;
}

void OwnWord::store(std::uint64_t value) noexcept {
  if (loop_ == nullptr) {
    std::atomic_ref(word_).store(value);
    return;
  }
  std::uint64_t expected = load();
  while (!compare_exchange(expected, value) && !broken_) {
  }
}

}  // namespace streams
