// SPDX-License-Identifier: MIT
// Names of functions as errors show them.
#pragma once

#include <string>
#include <string_view>

namespace dsfabric {

/// The name of a FunctionSlot with the compiler's names of types as they stand in the source. What
/// the user named stays as it is. Any thread.
std::string readable_name(std::string_view name, bool named_by_user);

}  // namespace dsfabric
