// SPDX-License-Identifier: MIT
// All of the service groups.
#pragma once

#include "groups/large_multicast.hpp"
#include "groups/schedule.hpp"
