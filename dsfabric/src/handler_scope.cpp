// SPDX-License-Identifier: MIT
// HandlerScope: the mark is the one that message handlers set; and what may not be done under it.
#include "dsfabric/handler_scope.hpp"

#include <fmt/format.h>

#include <utility>

#include "core.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait_hook.hpp"

namespace dsfabric {

HandlerScope::HandlerScope(Fabric& fabric)
    : mark_(fabric.core().thread_registry().mine().in_handler),
      before_(std::exchange(mark_, true)) {}

namespace detail {
namespace {

bool in_handler(Fabric& fabric) noexcept {
  const ThreadContext* const context = fabric.core().thread_registry().known();
  return context != nullptr && context->in_handler;
}

void refuse_to_wait(bool inside, std::string_view what) {
  if (!inside || dtutils::wait_is_put_aside()) return;
  // While it runs, its thread runs no other and sends nothing that is held, so the wait could last
  // for ever. Short: a caller of call_return gets as much as a CallFailure holds.
  throw dtutils::Error(std::string(what), "an inline handler would wait here",
                       "use riutils::in_fiber(f), or go on in another call");
}

}  // namespace

void require_may_wait(Fabric& fabric, std::string_view what) {
  refuse_to_wait(in_handler(fabric), what);
}

void require_may_wait(std::string_view what) { refuse_to_wait(ThreadRegistry::in_handler(), what); }

void require_program(Fabric& fabric, std::string_view what) {
  if (!in_handler(fabric)) return;
  throw dtutils::Error(std::string(what),
                       "it is for the work of run(), not for handlers and fibers",
                       "let the handler tell the worker, which then calls it");
}

}  // namespace detail
}  // namespace dsfabric
