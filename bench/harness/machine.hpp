// SPDX-License-Identifier: MIT
// What a bench ran on, in words.
#pragma once

#include <string>

namespace bench {

/// Processor, usable cores and kernel, for the head of a report. Setup only.
std::string describe_machine();

}  // namespace bench
