// SPDX-License-Identifier: MIT
// What a direction says over TCP when it has left its stream and goes on.
#pragma once

#include <cstdint>
#include <optional>

namespace preload {

/// The number of bytes that went over the stream. Who receives them knows by it that none is
/// missing, also when another process took them off the stream.
using Word = std::uint64_t;

/// What comes over TCP after a stream.
struct Heard {
  /// TCP has ended, too, or reports an error: there is no word.
  bool end;
  Word word;
};

/// Nothing: it has not come yet. Takes the word, and nothing else, off TCP.
std::optional<Heard> hear_word(int fd) noexcept;

/// Sends the last `left` bytes of the word, and counts them down; 0, or an errno value with EAGAIN
/// for what could not be sent now.
int say_word(int fd, Word word, unsigned& left) noexcept;

}  // namespace preload
