// SPDX-License-Identifier: MIT
// Umbrella of the service: programs include this one header.
#pragma once

#include "locks/dqnl.hpp"
#include "locks/dslr.hpp"
#include "locks/lock_id.hpp"
#include "locks/lock_space.hpp"
#include "locks/ncosed.hpp"
#include "locks/shared_mutex.hpp"
#include "locks/srsl.hpp"
