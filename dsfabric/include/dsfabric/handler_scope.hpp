// SPDX-License-Identifier: MIT
// How a layer above marks that it runs callables, so that none of them runs inside another.
#pragma once

#include <string_view>

namespace dsfabric {

class Fabric;

/// While it lives, the calling thread counts as running a callable: progress() takes messages in
/// but runs none, and no hooks; Thread::in_handler is true. The fabric's own message handlers have
/// it already. May be nested. Made and destroyed on one thread. Any thread, wait-free, once the
/// fabric knows it.
class HandlerScope {
 public:
  /// Says that this thread runs a handler now. Throws Error as SendSpace.
  explicit HandlerScope(Fabric& fabric);
  HandlerScope(const HandlerScope&) = delete;
  HandlerScope& operator=(const HandlerScope&) = delete;
  ~HandlerScope() { mark_ = before_; }

 private:
  bool& mark_;
  bool before_;
};

namespace detail {

/// Throws an Error that names `what`, an operation that would now wait for other threads to run
/// callables, where the calling thread runs one itself on its stack: its wait might never end. A
/// fiber may wait. Any thread.
void require_may_wait(Fabric& fabric, std::string_view what);
/// The same for what belongs to no fabric: a callable of whichever fabric counts. Any thread.
void require_may_wait(std::string_view what);
/// The same for an operation that is for programs, and not for callables, in fibers or not.
void require_program(Fabric& fabric, std::string_view what);

}  // namespace detail
}  // namespace dsfabric
