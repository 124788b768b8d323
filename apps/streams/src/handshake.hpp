// SPDX-License-Identifier: MIT
// How two sides that can talk over a socket come to a stream.
#pragma once

#include <memory>
#include <string>

#include "dtutils/protection_domain.hpp"
#include "meeting.hpp"
#include "streams/stream.hpp"

namespace streams {

/// The steps of both sides; each ends with the time of the meeting. Setup only.
///
///     connects                    accepts
///        |  ---- Introduction ---->  |
///        |  <--- Introduction -----  |   its queue pair is connected
///        |  ---- ready ----------->  |   both are
class Handshake {
 public:
  /// nullptr: the other side left, or speaks something else. Throws Error: the device refuses.
  static std::unique_ptr<Stream> accept(dtutils::ProtectionDomain& domain, Meeting& meeting,
                                        const StreamOptions& options);
  /// Throws Error, about `object`: the same, or the device cannot reach the other side.
  static std::unique_ptr<Stream> connect(dtutils::ProtectionDomain& domain, Meeting& meeting,
                                         const StreamOptions& options, const std::string& object);
  /// Both sides at the same time: whether a byte of each comes to the other over the device. The
  /// side that accepts is the first to know, so that it does not have a stream alone.
  static bool works(Stream& stream, Meeting& meeting, bool accepts);
  /// The stream, when it works; then the meeting is over. Throws Error, about `object`.
  static std::unique_ptr<Stream> tried(std::unique_ptr<Stream> stream, Meeting& meeting,
                                       bool accepts, const std::string& object);
  /// The meeting is over.
  static void keep(Stream& stream, Meeting& meeting);
};

/// Throws Error, about `object`, when an option is not as StreamOptions says.
void check(const std::string& object, const StreamOptions& options);

}  // namespace streams
