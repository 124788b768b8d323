// SPDX-License-Identifier: MIT
// HandlerScope: the mark is the one that message handlers set; and what may not be done under it.
#include "dsfabric/handler_scope.hpp"

#include <fmt/format.h>

#include <utility>

#include "dsfabric/detail/inside.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait_hook.hpp"
#include "threads/handler_rules.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric {

HandlerScope::HandlerScope(Fabric& fabric)
    : mark_(detail::Inside::threads(fabric).mine().in_handler),
      before_(std::exchange(mark_, true)) {}

namespace detail {
namespace {

bool in_handler(Fabric& fabric) noexcept {
  const ThreadContext* const context = Inside::threads(fabric).known();
  return context != nullptr && context->in_handler;
}

void refuse_to_wait(bool inside, std::string_view what) {
  if (!inside || dtutils::wait_is_put_aside()) return;
  // While it runs, its thread runs no other and sends nothing that is held, so the wait could last
  // forever. Short: a caller of call_return gets as much as a CallFailure holds.
  throw dtutils::Error(std::string(what), "an inline handler would wait here",
                       "use riutils::in_fiber(f), or go on in another call");
}

}  // namespace

void require_may_wait(Fabric& fabric, std::string_view what) {
  refuse_to_wait(in_handler(fabric), what);
}

void require_may_wait(std::string_view what) { refuse_to_wait(ThreadRegistry::in_handler(), what); }

void require_program(Fabric& fabric, std::string_view what) {
  if (in_handler(fabric)) refuse_handlers(what);
}

}  // namespace detail

void refuse_handlers(std::string_view what) {
  throw dtutils::Error(std::string(what),
                       "it is for the work of run(), not for handlers and fibers",
                       "let the handler tell the worker, which then calls it");
}

}  // namespace dsfabric
