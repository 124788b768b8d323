// SPDX-License-Identifier: MIT
// Closings: proposals, answers, and the last messages.
#include "failure/closings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {

std::uint32_t Closings::count() const noexcept {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(connections_.touched(), [this](ProcessId process) {
        return process != members_.self() && connections_.ready(process) &&
               failures_.active(process);
      }));
}

void Closings::keep_limit() {
  for (std::uint32_t open = count(); open > limit_;) {
    const auto now = dtutils::Clock::now();
    const auto next = connections_.least_recently_used([&](ProcessId process) {
      const auto known = peers_.find(process);
      return failures_.active(process) && (known == peers_.end() || known->second.again <= now);
    });
    if (!next) return;
    if (propose(*next)) --open;
  }
}

bool Closings::propose(ProcessId to) {
  if (!connections_.try_stop(to)) return false;
  if (!connections_.bid_farewell(to, ++number_, kClosingPatience)) {
    put_off(to);
    return false;
  }
  peers_[to].proposed = true;
  try {
    send(to, LetterKind::kClose, number_);
  } catch (...) {
    put_off(to);
    throw;
  }
  return true;
}

bool Closings::hear_close(ProcessId from, std::uint64_t number, bool leaving) {
  if (proposed(from)) {
    close(from, number);
    return true;
  }
  if (!leaving && connections_.try_stop(from)) {
    if (take_until_farewell(from, number, kClosingPatience) &&
        connections_.bid_farewell(from, ++number_, kClosingPatience)) {
      close(from, number);
      send(from, LetterKind::kClosed, number_);
      return true;
    }
    put_off(from);
  }
  send(from, LetterKind::kKeep);
  return false;
}

bool Closings::hear_closed(ProcessId from, std::uint64_t number) {
  require_proposed(from);
  close(from, number);
  return true;
}

void Closings::hear_keep(ProcessId from) {
  require_proposed(from);
  put_off(from);
}

void Closings::put_off(ProcessId process) {
  peers_[process] = {false, dtutils::Clock::now() + kClosingPause};
  connections_.go_on(process);
}

void Closings::require_proposed(ProcessId from) const {
  if (proposed(from)) return;
  throw dtutils::Error(fmt::format("process {}", from.value),
                       "it answers a proposal to close a connection, which nobody has made",
                       "start all processes from programs of the same build");
}

bool Closings::take_until_farewell(ProcessId from, std::uint64_t number,
                                   std::chrono::milliseconds limit) {
  dtutils::Deadline deadline(limit);
  for (dtutils::Backoff backoff;; backoff.pause()) {
    take_();
    if (connections_.farewell_came(from, number)) return true;
    if (deadline.passed()) return false;
  }
}

void Closings::close(ProcessId process, std::uint64_t number) {
  // The peer's device has said that it is here, so it comes as soon as whoever takes messages in
  // just now gets on.
  if (!take_until_farewell(process, number, kFarewellLimit)) {
    throw dtutils::Error(fmt::format("process {}", process.value),
                         "its last message on a connection that is to be closed did not come",
                         "look for what broke the connection");
  }
  peers_.erase(process);
  connections_.close(process);
}

bool Closings::free(ProcessId gone) noexcept {
  if (!connections_.give_back(gone)) return false;
  if (!connections_.try_abandon(gone)) return connections_.pinned(gone);
  peers_.erase(gone);
  // All that it has sent is taken as long as one can see who has sent it. Its queue pairs get
  // nothing any more.
  take_();
  connections_.destroy(gone, take_);
  return true;
}

void Closings::send(ProcessId to, LetterKind kind, std::uint64_t number) {
  ByteWriter letter = letter_of(kind);
  letter.value(number);
  bootstrap_.send(to.value, letter.bytes());
}

}  // namespace dsfabric
