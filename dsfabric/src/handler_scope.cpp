// SPDX-License-Identifier: MIT
// HandlerScope: the mark is the one that dispatchers set.
#include "dsfabric/handler_scope.hpp"

#include <utility>

#include "core.hpp"
#include "dsfabric/fabric.hpp"

namespace dsfabric {

HandlerScope::HandlerScope(Fabric& fabric)
    : mark_(fabric.core().lanes().mine().dispatching), before_(std::exchange(mark_, true)) {}

}  // namespace dsfabric
