// SPDX-License-Identifier: MIT
// Who has come to a TCP address and has not proved yet that it knows the secret.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <list>

#include "dtutils/shared_secret.hpp"
#include "meeting.hpp"
#include "proving.hpp"

namespace streams {

/// Hears all guests side by side, so that a silent one delays nobody. Setup only.
class Guests {
 public:
  using Clock = std::chrono::steady_clock;

  /// Takes over the listening socket. Throws Error.
  Guests(int listener, const dtutils::SharedSecret& secret);
  Guests(const Guests&) = delete;
  Guests& operator=(const Guests&) = delete;
  ~Guests();

  /// The socket of the next one that has proved it, and has been given a proof; -1 when it is
  /// `end`. Throws Error: there is no descriptor left.
  int next(Clock::time_point end);
  /// Readable when `next` has something to do.
  int descriptor() const noexcept { return events_; }

 private:
  struct Guest {
    Guest(int fd, Clock::time_point until, const dtutils::Nonce& said_to_it) noexcept
        : socket(fd, until), end(until), nonce(said_to_it) {}

    Meeting socket;
    Clock::time_point end;
    dtutils::Nonce nonce;
    std::array<std::byte, sizeof(Claim)> said{};
    std::size_t heard = 0;
  };
  enum class Progress { kMore, kProved, kGone };

  void take_in();
  void drop_late() noexcept;
  Progress hear(Guest& guest) noexcept;
  bool believe(Guest& guest) noexcept;

  dtutils::SharedSecret secret_;
  Meeting listener_;
  int events_;
  /// In the order in which they came.
  std::list<Guest> guests_;
};

}  // namespace streams
