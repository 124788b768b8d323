// SPDX-License-Identifier: MIT
// What the launcher of an elastic job says about its members, and what this process says to it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "bootstrap/shared_bootstrap.hpp"
#include "dsfabric/ids.hpp"
#include "failure/end_notices.hpp"
#include "failure/failures.hpp"
#include "mesh/meeting.hpp"

namespace dsfabric {

/// Whom this process believes to have failed is failed here at once, and is accused; the launcher
/// gives up the first one that is accused, and tells all members, in one order. So members agree on
/// who is in the job, and each has broken its connections with one that has failed before its users
/// are told. One that is given up, and lives, hears of it, and has failed for itself.
class Membership {
 public:
  /// `given_up` is called when this process is no member any more. Setup only.
  Membership(SharedBootstrap& bootstrap, Meeting& meeting, Failures& failures, EndNotices& notices)
      : bootstrap_(bootstrap), meeting_(meeting), failures_(failures), notices_(notices) {
    // They ended before this process came: its users are told of none.
    for (const JobEvent& event : meeting_.past) end(event);
  }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Setup only.
  void on_given_up(std::function<void(const std::string& reason)> upcall) {
    given_up_ = std::move(upcall);
  }
  /// One thread at a time.
  void hear(const JobEvent& event) noexcept;
  /// Nothing, unless the job is elastic. Any thread.
  void accuse(ProcessId process, std::string_view reason) noexcept;

 private:
  /// Of a process that has left or failed.
  void end(const JobEvent& event) noexcept;

  SharedBootstrap& bootstrap_;
  Meeting& meeting_;
  Failures& failures_;
  EndNotices& notices_;
  std::function<void(const std::string& reason)> given_up_;
};

}  // namespace dsfabric
