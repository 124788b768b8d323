// SPDX-License-Identifier: MIT
// The secret of an elastic job in a file, and where those who join it find it.
#pragma once

#include <string>

namespace run {

/// Makes the file anew, for its owner alone. Throws dtutils::Error.
void write_secret(const std::string& file, const std::string& secret);

/// From the file, or from the environment when its name is empty. Throws dtutils::Error.
std::string read_secret(const std::string& file);

}  // namespace run
