// SPDX-License-Identifier: MIT
// What a member gives to a newcomer: the state, and what is delivered and not applied.
#include <cstring>
#include <span>

#include "dtutils/error.hpp"
#include "store/member.hpp"

namespace store {
namespace {

/// Before the state of the engine.
struct GivenHead {
  /// The state has all messages below `next`, and was taken in that view or is as old.
  std::uint64_t view;
  std::uint64_t next;
  std::uint64_t bytes;
};

/// Before each message that is delivered and not applied.
struct MessageHead {
  std::uint64_t view;
  std::uint64_t sequence;
  std::uint64_t bytes;
};

/// No process of a job.
constexpr dsfabric::ProcessId kNobody{0xffff};

template <class Head>
void append(std::vector<std::byte>& to, const Head& head, std::span<const std::byte> bytes) {
  const auto first = std::as_bytes(std::span(&head, 1));
  to.insert(to.end(), first.begin(), first.end());
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Takes a head and its bytes from the front.
template <class Head>
std::span<const std::byte> take(std::span<const std::byte>& from, Head& head) {
  if (from.size() >= sizeof head) {
    std::memcpy(&head, from.data(), sizeof head);
    from = from.subspan(sizeof head);
    if (head.bytes <= from.size()) {
      const auto bytes = from.first(head.bytes);
      from = from.subspan(head.bytes);
      return bytes;
    }
  }
  throw dtutils::Error("store", "another member has given a state that is not whole",
                       "start all members from the same build");
}

}  // namespace

std::vector<std::byte> Member::snapshot(std::uint64_t next) const {
  const std::vector<std::byte> engine = engine_.snapshot();
  std::vector<std::byte> state;
  state.reserve(sizeof(GivenHead) + engine.size());
  if (held_.empty()) {
    append(state, GivenHead{group_->view().id, next, engine.size()}, engine);
  } else {
    const Held& first = held_.front();
    append(state, GivenHead{first.view, first.sequence, engine.size()}, engine);
  }
  for (const Held& each : held_) {
    append(state, MessageHead{each.view, each.sequence, each.bytes.size()}, each.bytes);
  }
  return state;
}

void Member::take_state(std::span<const std::byte> state) {
  GivenHead head;
  const auto engine = take(state, head);
  held_.clear();
  if (durable_) {
    // A second state, when the member that gave the first one has died: behind it there may be
    // records already.
    if (took_state_) {
      durable_.reset();
      durable_ = open();
    }
    took_state_ = true;
    durable_->replace(engine, head.view, head.next);
  } else {
    engine_.restore(engine);
  }
  while (!state.empty()) {
    MessageHead message;
    const auto bytes = take(state, message);
    deliver({message.view, message.sequence, kNobody, bytes});
  }
}

}  // namespace store
