// SPDX-License-Identifier: MIT
// CallSpan: a span of the simulation.
#include "dsfabric/detail/call_span.hpp"

#include <fmt/format.h>

#include "calls/readable_name.hpp"
#include "dsfabric/detail/function_table.hpp"
#include "dtutils/simulation.hpp"

namespace dsfabric::detail {

CallSpan::CallSpan(const FunctionSlot& function, const CallContext& call)
    : span_(dtutils::Simulation::current()->begin_span(
          "call",
          fmt::format("{} from thread {}", readable_name(function.name(), function.named_by_user()),
                      call.source))) {}

CallSpan::~CallSpan() { dtutils::Simulation::current()->end_span(span_); }

}  // namespace dsfabric::detail
