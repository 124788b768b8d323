// SPDX-License-Identifier: MIT
// Streams between processes that find each other by a network address and trust a shared secret.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "dtutils/protection_domain.hpp"
#include "dtutils/shared_secret.hpp"
#include "streams/stream.hpp"

namespace streams {

class Guests;

/// Accepts streams at a TCP address, from processes of any host and user that know the secret. Both
/// sides prove that they know it, and it does not travel; what they say afterwards is neither
/// encrypted nor signed, as what the device carries is not. A stream needs a device that leads to
/// the other host: on shm only processes of this one come to a stream.
///
/// Setup only.
class AddressListener {
 public:
  /// Begins to listen at "HOST:PORT", "[IPv6]:PORT" or, on all addresses of this host, ":PORT".
  /// With port 0 the system chooses one. Throws Error: it is no address; it is in use, or not of
  /// this host; an option is not as StreamOptions says.
  AddressListener(dtutils::ProtectionDomain& domain, std::string_view address,
                  const dtutils::SharedSecret& secret, const StreamOptions& options = {});
  AddressListener(const AddressListener&) = delete;
  AddressListener& operator=(const AddressListener&) = delete;
  ~AddressListener();

  /// The next stream, or nullptr when `timeout` is over. Strangers are heard side by side, at most
  /// kGuests of them for kIntroduction each, and delay nobody; the oldest has to leave when more
  /// come. One who has proved that it knows the secret, and then keeps silent, delays others by
  /// kIntroduction at most. Throws Error: there is no descriptor left; the device refuses.
  std::unique_ptr<Stream> accept(std::chrono::milliseconds timeout);

  /// Readable when there is something to do for accept: for poll(2) and epoll(7).
  int descriptor() const noexcept;
  /// Where it listens, also when it was to choose.
  std::uint16_t port() const noexcept { return port_; }

 private:
  dtutils::ProtectionDomain& domain_;
  StreamOptions options_;
  std::unique_ptr<Guests> guests_;
  std::uint16_t port_;
};

/// Connects to an AddressListener, which may not have begun to listen yet, at "HOST:PORT" or
/// "[IPv6]:PORT". When the name has several addresses, they are tried in turn. Throws Error: it is
/// no address; nobody answers there within `timeout`, which all steps share; the listener does not
/// know the secret, or does not believe that this side does; the device does not lead to it; an
/// option is not as StreamOptions says. Setup only.
std::unique_ptr<Stream> connect_to(dtutils::ProtectionDomain& domain, std::string_view address,
                                   const dtutils::SharedSecret& secret,
                                   std::chrono::milliseconds timeout,
                                   const StreamOptions& options = {});

}  // namespace streams
