// SPDX-License-Identifier: MIT
// Streams at addresses: proofs first, and then what two sides of a socket do.
#include "streams/address.hpp"

#include "dtutils/error.hpp"
#include "dtutils/tcp.hpp"
#include "guests.hpp"
#include "handshake.hpp"
#include "proving.hpp"

namespace streams {
namespace {

using Clock = Meeting::Clock;
using std::chrono::milliseconds;

/// Throws Error: the other side does not know the secret, or does not believe this one.
void prove_each_other(Meeting& meeting, const dtutils::SharedSecret& secret,
                      const std::string& object) {
  Hello theirs;
  if (!meeting.hear(theirs) || !valid(theirs)) {
    throw dtutils::Error(object, "what answers there is no listener of streams, or is too busy",
                         "see that the address is right, and that it calls accept");
  }
  Claim claim{.hello = make_hello(), .proof = {}};
  const dtutils::Transcript transcript = transcript_of(claim.hello.nonce, theirs.nonce);
  claim.proof = secret.prove(dtutils::HandshakeRole::kInitiator, transcript);
  dtutils::Proof answer;
  if (!meeting.tell(claim) || !meeting.hear(answer) ||
      !secret.accepts(dtutils::HandshakeRole::kResponder, transcript, answer)) {
    throw dtutils::Error(object, "the listener has another secret, or left",
                         "give both sides the same secret");
  }
}

}  // namespace

AddressListener::AddressListener(dtutils::ProtectionDomain& domain, std::string_view address,
                                 const dtutils::SharedSecret& secret, const StreamOptions& options)
    : domain_(domain), options_(options) {
  const std::string object = "stream at " + std::string(address);
  check(object, options);
  Meeting socket(dtutils::listen_tcp(object, dtutils::parse_host_port(object, address), kBacklog),
                 {});
  port_ = dtutils::tcp_port(socket.fd());
  guests_ = std::make_unique<Guests>(socket.release(), secret);
}

AddressListener::~AddressListener() = default;

int AddressListener::descriptor() const noexcept { return guests_->descriptor(); }

std::unique_ptr<Stream> AddressListener::accept(milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  for (;;) {
    const int socket = guests_->next(end);
    if (socket < 0) return nullptr;
    Meeting meeting(socket, Clock::now() + kIntroduction);
    auto stream = Handshake::accept(domain_, meeting, options_);
    if (stream != nullptr && Handshake::works(*stream, meeting, true)) {
      Handshake::keep(*stream, meeting);
      return stream;
    }
  }
}

std::unique_ptr<Stream> connect_to(dtutils::ProtectionDomain& domain, std::string_view address,
                                   const dtutils::SharedSecret& secret, milliseconds timeout,
                                   const StreamOptions& options) {
  const std::string object = "stream to " + std::string(address);
  check(object, options);
  const Clock::time_point end = Clock::now() + timeout;
  Meeting meeting(dtutils::connect_tcp(object, dtutils::parse_host_port(object, address), end),
                  end);
  prove_each_other(meeting, secret, object);
  return Handshake::tried(Handshake::connect(domain, meeting, options, object), meeting, false,
                          object);
}

}  // namespace streams
