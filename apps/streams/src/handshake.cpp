// SPDX-License-Identifier: MIT
// Introductions, and a byte each way over the device.
#include "handshake.hpp"

#include <cstddef>
#include <span>

#include "dtutils/error.hpp"
#include "introduction.hpp"

namespace streams {
namespace {

/// Says that the side that connects is ready too.
constexpr char kReady = 'r';
/// Says that a byte has come over the device; also the byte.
constexpr char kWorks = 'w';

}  // namespace

void check(const std::string& object, const StreamOptions& options) {
  if (valid_ring(options.ring) &&
      (options.largest_ring <= options.ring || valid_ring(options.largest_ring))) {
    return;
  }
  throw dtutils::Error(object, "its ring has a size that it cannot have",
                       "take a power of two from kSmallestRing to kLargestRing");
}

std::unique_ptr<Stream> Handshake::accept(dtutils::ProtectionDomain& domain, Meeting& meeting,
                                          const StreamOptions& options) {
  Introduction peer;
  if (!meeting.hear(peer) || !valid(peer)) return nullptr;
  StreamOptions asked = options;
  asked.flow = static_cast<FlowControl>(peer.flow);
  std::unique_ptr<Stream> stream(new Stream(domain, asked));
  try {
    stream->meet(peer);
  } catch (const dtutils::Error&) {
    return nullptr;  // The peer left, or named a queue pair that does not exist.
  }
  char ready;
  if (!meeting.tell(stream->introduction()) || !meeting.hear(ready)) return nullptr;
  return stream;
}

std::unique_ptr<Stream> Handshake::connect(dtutils::ProtectionDomain& domain, Meeting& meeting,
                                           const StreamOptions& options,
                                           const std::string& object) {
  std::unique_ptr<Stream> stream(new Stream(domain, options));
  Introduction peer;
  if (!meeting.tell(stream->introduction()) || !meeting.hear(peer) || !valid(peer) ||
      peer.flow != static_cast<std::uint32_t>(options.flow)) {
    throw dtutils::Error(object, "the listener did not accept",
                         "see that it calls accept, and that it has the same version");
  }
  stream->meet(peer);
  if (!meeting.tell(kReady)) {
    throw dtutils::Error(object, "the listener left while it accepted", "connect again");
  }
  return stream;
}

bool Handshake::works(Stream& stream, Meeting& meeting, bool accepts) {
  const auto sent = std::byte{kWorks};
  if (stream.try_send(std::span(&sent, 1)).bytes != 1) return false;
  while (!stream.receive_ready()) {
    if (!meeting.pause()) return false;
  }
  std::byte received;
  if (stream.try_receive(std::span(&received, 1)).bytes != 1 || received != sent) return false;
  char heard = 0;
  if (accepts) return meeting.tell(kWorks) && meeting.hear(heard) && heard == kWorks;
  return meeting.hear(heard) && heard == kWorks && meeting.tell(kWorks);
}

std::unique_ptr<Stream> Handshake::tried(std::unique_ptr<Stream> stream, Meeting& meeting,
                                         bool accepts, const std::string& object) {
  if (!works(*stream, meeting, accepts)) {
    throw dtutils::Error(object, "the device leads to no other side",
                         "see that both devices are of one network, and that the other side lives");
  }
  keep(*stream, meeting);
  return stream;
}

void Handshake::keep(Stream& stream, Meeting& meeting) { stream.keep(meeting.release()); }

}  // namespace streams
