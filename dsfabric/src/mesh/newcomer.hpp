// SPDX-License-Identifier: MIT
// How a process comes to an elastic job that runs already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mesh/meeting.hpp"

namespace dsfabric {

/// Hears who has started the job, introduces this process, and hears who else has come and gone
/// before. Its workers are not pinned to cores, which others may have. Throws Error when something
/// differs that must not. Setup only.
Meeting meet_as_newcomer(SharedBootstrap& bootstrap, const dtutils::DeviceInfo& device,
                         const Config& config);

/// Throws Error that names both and what they are of.
void require_equal(std::uint64_t mine, std::uint64_t theirs, std::size_t rank,
                   std::string_view what);

}  // namespace dsfabric
