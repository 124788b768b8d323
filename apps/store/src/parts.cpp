// SPDX-License-Identifier: MIT
// Parts: putting them together, and carrying them along in a state.
#include "store/parts.hpp"

#include <cstring>
#include <utility>

#include "state_error.hpp"

namespace store {
namespace {

/// Before the bytes of each sender.
struct BegunHead {
  std::uint32_t sender;
  std::uint32_t next;
  std::uint64_t bytes;
};
static_assert(sizeof(BegunHead) == 16);

}  // namespace

std::vector<std::byte> Parts::take(std::uint16_t sender, std::uint32_t index, Part part,
                                   std::span<const std::byte> bytes) {
  if (index == 0) begun_[sender] = {};
  const auto found = begun_.find(sender);
  if (found == begun_.end() || found->second.next != index) return {};
  Begun& begun = found->second;
  ++begun.next;
  begun.bytes.insert(begun.bytes.end(), bytes.begin(), bytes.end());
  if (part != Part::kLast) return {};
  std::vector<std::byte> whole = std::move(begun.bytes);
  begun_.erase(found);
  return whole;
}

void Parts::append_to(std::vector<std::byte>& state) const {
  for (const auto& [sender, begun] : begun_) {
    const BegunHead head{sender, begun.next, begun.bytes.size()};
    const auto bytes = std::as_bytes(std::span(&head, 1));
    state.insert(state.end(), bytes.begin(), bytes.end());
    state.insert(state.end(), begun.bytes.begin(), begun.bytes.end());
  }
}

void Parts::restore(std::span<const std::byte> state) {
  begun_.clear();
  while (!state.empty()) {
    BegunHead head;
    if (state.size() >= sizeof head) std::memcpy(&head, state.data(), sizeof head);
    if (state.size() < sizeof head || head.bytes > state.size() - sizeof head) {
      begun_.clear();
      refuse_state();
    }
    const auto bytes = state.subspan(sizeof head, head.bytes);
    begun_[static_cast<std::uint16_t>(head.sender)] = {head.next, {bytes.begin(), bytes.end()}};
    state = state.subspan(sizeof head + head.bytes);
  }
}

}  // namespace store
