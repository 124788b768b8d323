// SPDX-License-Identifier: MIT
// A side of a connection that waits for the other one, of this host or of another one.
#pragma once

#include <memory>
#include <string>

#include "hosts/handover.hpp"
#include "streams/streams.hpp"

namespace preload {

/// Has the name of the connection as long as it lives. Setup only.
class Waiting {
 public:
  virtual ~Waiting() = default;
  /// Readable when somebody comes.
  virtual int descriptor() const noexcept = 0;
  /// The stream; nullptr when who came is not the other side, so that the wait goes on. Throws
  /// dtutils::Error when the device refuses.
  virtual std::unique_ptr<streams::Stream> accept() = 0;
};

/// For a process of this host, which connects to the name.
class WaitingHere : public Waiting {
 public:
  WaitingHere(dtutils::ProtectionDomain& domain, const std::string& name,
              const streams::StreamOptions& options);
  int descriptor() const noexcept override { return listener_.descriptor(); }
  std::unique_ptr<streams::Stream> accept() override;

 private:
  streams::Listener listener_;
};

/// For a process of another host, whose connection the broker hands over.
class WaitingForHost : public Waiting {
 public:
  WaitingForHost(dtutils::ProtectionDomain& domain, const std::string& name,
                 const streams::StreamOptions& options);
  int descriptor() const noexcept override { return offer_.descriptor(); }
  std::unique_ptr<streams::Stream> accept() override;

 private:
  dtutils::ProtectionDomain& domain_;
  streams::StreamOptions options_;
  hosts::Offer offer_;
};

}  // namespace preload
