// SPDX-License-Identifier: MIT
// How a layer above marks that it runs callables, so that none of them runs inside another.
#pragma once

namespace dsfabric {

class Fabric;

/// While it lives, the calling thread counts as running a callable: progress() takes messages in
/// but runs none, and no hooks; Thread::in_dispatcher is true. The fabric's own dispatchers have it
/// already. May be nested. Made and destroyed on one thread. Any thread, wait-free, once the fabric
/// knows it.
class HandlerScope {
 public:
  explicit HandlerScope(Fabric& fabric);
  HandlerScope(const HandlerScope&) = delete;
  HandlerScope& operator=(const HandlerScope&) = delete;
  ~HandlerScope() { mark_ = before_; }

 private:
  bool& mark_;
  bool before_;
};

}  // namespace dsfabric
