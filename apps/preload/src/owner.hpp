// SPDX-License-Identifier: MIT
// The process whose streams its children may want, and its thread that gives them back.
#pragma once

namespace preload {

/// How children reach the process that has the stream of a connection. They inherit both.
struct Owner {
  /// A pidfd, readable once it has ended; -1: children cannot be served.
  int process = -1;
  /// An eventfd on which its thread sleeps.
  int wake = -1;
};

/// Before a fork of a process that has streams: starts the thread, if there is none.
void prepare_owner() noexcept;
/// In a child: what its parent was. The child has none before its own streams and forks.
Owner leave_owner() noexcept;

}  // namespace preload
