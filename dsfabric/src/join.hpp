// SPDX-License-Identifier: MIT
// The last step of join(), for those who bring a bootstrap of their own.
#pragma once

#include <memory>

#include "core.hpp"
#include "dsfabric/fabric.hpp"

namespace dsfabric {

/// The Fabric around what has met and connected. Setup only.
Fabric make_fabric(std::unique_ptr<Core> core);

}  // namespace dsfabric
