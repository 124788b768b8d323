// SPDX-License-Identifier: MIT
// What handlers may not do.
#pragma once

#include <string_view>

namespace dsfabric {

/// Throws the Error of `what`, an operation for the work of run(), in a handler or fiber.
[[noreturn]] void refuse_handlers(std::string_view what);

}  // namespace dsfabric
