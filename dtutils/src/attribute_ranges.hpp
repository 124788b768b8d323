// SPDX-License-Identifier: MIT
// What an attribute of a queue pair may be at most, on all devices.
#pragma once

#include <infiniband/verbs.h>

#include <string_view>

namespace dtutils {

/// Throws Error about `object` where an attribute of `mask` does not fit into its bits of a queue
/// pair's context (ibv_modify_qp(3)): some drivers cut such a number, and others refuse it without
/// a word. Setup only.
void check_ranges(std::string_view object, const ibv_qp_attr& attributes, int mask);

}  // namespace dtutils
