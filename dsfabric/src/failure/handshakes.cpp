// SPDX-License-Identifier: MIT
// Handshakes: offers, answers, and those who wait.
#include "failure/handshakes.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "failure/letter.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {

Handshakes::Handshakes(SharedBootstrap& bootstrap, const Config& config, const Members& members,
                       Connections& connections, NoticeBoard& board, Failures& failures,
                       EndNotices& notices, Membership& membership)
    : bootstrap_(bootstrap),
      patience_(config.start_timeout),
      members_(members),
      connections_(connections),
      board_(board),
      failures_(failures),
      notices_(notices),
      membership_(membership),
      closings_(bootstrap, config.max_connections, members, connections, failures) {
  connections_.on_first_use(*this);
}

void Handshakes::tell_block(const Locator& block,
                            std::function<void(ProcessId, const Locator&)> theirs) {
  block_ = block;
  theirs_ = std::move(theirs);
  theirs_(members_.self(), block);
}

ByteWriter Handshakes::prepare(ProcessId to) {
  ByteWriter offer = letter_of(LetterKind::kOffer);
  connections_.make(to);
  offer.value(board_.make(to));
  offer.value(block_);
  offer.list(connections_.endpoints(to));
  return offer;
}

void Handshakes::connect(ProcessId from, ByteReader& offer) {
  board_.set_peer(from, offer.value<Locator>());
  theirs_(from, offer.value<Locator>());
  connections_.connect(from, offer.list<dtutils::Endpoint>());
}

void Handshakes::connect_all() {
  if (bootstrap_.relays()) return;
  std::vector<Bytes> mine(members_.count());
  const auto for_each_peer = [&](auto visit) {
    for (std::uint16_t i = 0; i < members_.count(); ++i) {
      if (i != members_.self().value) visit(ProcessId{i});
    }
  };
  for_each_peer([&](ProcessId peer) {
    const ByteWriter offer = prepare(peer);
    mine[peer.value].assign(offer.bytes().begin(), offer.bytes().end());
  });
  const std::vector<Bytes> theirs = bootstrap_.all_to_all(mine, patience_);
  for_each_peer([&](ProcessId peer) {
    ByteReader offer(theirs[peer.value]);
    (void)offer.value<LetterKind>();
    connect(peer, offer);
  });
  bootstrap_.barrier(patience_);
  for_each_peer([&](ProcessId peer) { connections_.hand_out(peer); });
}

void Handshakes::offer(ProcessId to) {
  Progress& progress = progress_[to];
  if (std::exchange(progress.offered, true)) return;
  send(to, prepare(to));
}

void Handshakes::begin_locked(ProcessId with) noexcept try {
  if (closed_ || !failures_.active(with)) return;
  if (letters_have_ended_) return give_up(with);
  offer(with);
} catch (const std::exception& error) {
  failures_.declare(with, fmt::format("no connection to it can be made: {}", error.what()));
}

void Handshakes::begin(ProcessId with) noexcept {
  const std::scoped_lock lock(mutex_);
  begin_locked(with);
}

template <class Done>
bool Handshakes::hear_until(Done done, std::chrono::milliseconds limit) {
  dtutils::Deadline deadline(limit);
  // Twice as long each time: in a large job on few cores hundreds wait at once.
  std::chrono::milliseconds again = kHearAgain;
  ++hearers_;
  const dtutils::detail::ScopeExit ended([&]() noexcept { --hearers_; });
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      hear_locked();
      if (done()) return true;
    }
    if (deadline.passed()) return false;
    // It leaves the core to those who carry and answer the letters: where others compute, whoever
    // only yields comes back much later than whoever sleeps.
    pollfd news[] = {{bootstrap_.failure_fd(), POLLIN, 0}, {heard_.fd(), POLLIN, 0}};
    (void)dtutils::wait_for_events(news, again);
    again = std::min(2 * again, kHearAgainAtMost);
    if (news[1].revents != 0) heard_.clear();
  }
}

void Handshakes::finish(ProcessId with) noexcept try {
  const auto over = [&] {
    if (connections_.ready(with) || !failures_.active(with) || closed_) return true;
    // Each time: what was about to be closed may be closed by now.
    begin_locked(with);
    return false;
  };
  if (hear_until(over, patience_)) return;
  failures_.declare(with, fmt::format("it did not answer within {} ms when this process wanted to "
                                      "connect with it",
                                      patience_.count()));
} catch (const std::exception& error) {
  failures_.declare(with, error.what());
}

void Handshakes::handle(ProcessId from, std::span<const std::byte> bytes) noexcept try {
  // Who was given up has been told so, and is not connected with any more.
  if (failures_.state(from) == PeerState::kFailed || connections_.abandoned(from)) return;
  ByteReader letter(bytes);
  switch (letter.value<LetterKind>()) {
    case LetterKind::kOffer: {
      if (closed_) return;
      offer(from);
      if (std::exchange(progress_[from].connected, true)) break;
      connect(from, letter);
      send(from, letter_of(LetterKind::kReady));
      return;
    }
    case LetterKind::kReady:
      if (closed_) return;
      if (!progress_[from].connected) break;
      connections_.hand_out(from);
      return;
    case LetterKind::kClose:
      if (closings_.hear_close(from, letter.value<std::uint64_t>(), closed_)) forget(from);
      return;
    case LetterKind::kClosed:
      if (closings_.hear_closed(from, letter.value<std::uint64_t>())) forget(from);
      return;
    case LetterKind::kKeep:
      return closings_.hear_keep(from);
    case LetterKind::kEnd: {
      const auto progress = progress_.find(from);
      if (progress != progress_.end()) progress->second.ended = true;
      const auto state = letter.value<std::uint64_t>();
      notices_.hear(from, state, letter.text());
      return;
    }
  }
  failures_.declare(from, "it sent a letter that makes no sense");
} catch (const std::exception& error) {
  unreachable_.emplace_back(from, error.what());
}

void Handshakes::hear_locked() noexcept {
  bootstrap_.hear(
      [this](std::uint32_t from, const Bytes& letter) {
        if (from >= members_.count() || from == members_.self().value) return;
        handle({static_cast<std::uint16_t>(from)}, letter);
      },
      [this](std::uint32_t failed) {
        if (failed >= members_.count()) return end_letters();
        const ProcessId process{static_cast<std::uint16_t>(failed)};
        notices_.check(process);
        failures_.declare(process, "the launcher says that it ended");
      },
      [this](const JobEvent& event) { membership_.hear(event); });
  for (const auto& [process, why] : unreachable_) {
    failures_.declare(process, fmt::format("no connection with it can be made: {}", why));
  }
  unreachable_.clear();
}

void Handshakes::forget(ProcessId with) noexcept {
  Progress& progress = progress_[with];
  progress = {.ended = progress.ended};
  board_.give_back(with);
  if (connections_.awaited(with)) begin_locked(with);
}

void Handshakes::keep_limit() noexcept try {
  if (!connections_.limited()) return;
  const std::scoped_lock lock(mutex_);
  if (!closed_ && !letters_have_ended_) closings_.keep_limit();
} catch (const std::exception&) {
  // There is no memory: it is tried again.
}

bool Handshakes::free(ProcessId gone) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!closings_.free(gone)) return false;
  board_.give_back(gone);
  progress_.erase(gone);
  return true;
}

bool Handshakes::in_progress(ProcessId with) const noexcept {
  const auto found = progress_.find(with);
  return found != progress_.end() && found->second.offered && !found->second.ended &&
         !connections_.ready(with) && failures_.state(with) != PeerState::kFailed;
}

bool Handshakes::in_progress() const noexcept {
  return std::ranges::any_of(progress_,
                             [this](const auto& each) { return in_progress(each.first); });
}

void Handshakes::end_letters() noexcept {
  letters_have_ended_ = true;
  for (const auto& [process, progress] : progress_) {
    if (in_progress(process)) give_up(process);
  }
}

void Handshakes::give_up(ProcessId process) noexcept {
  failures_.declare(process,
                    "no connection with it can be made: who carried the letters has ended");
}

void Handshakes::hear() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    hear_locked();
  }
  if (hearers_ != 0) heard_.wake();
}

void Handshakes::fence() noexcept { const std::scoped_lock lock(mutex_); }

void Handshakes::leave(std::chrono::milliseconds limit) noexcept {
  // Under the lock, so that none begins in between.
  if (!hear_until([this] { return closed_ = !in_progress(); }, limit)) close();
}

void Handshakes::close() noexcept {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
}

}  // namespace dsfabric
