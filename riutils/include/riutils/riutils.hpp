// SPDX-License-Identifier: MIT
// The whole layer: what an application includes.
#pragma once

#include "dsfabric/dsfabric.hpp"
#include "riutils/counters.hpp"
#include "riutils/fiber_mutex.hpp"
#include "riutils/fiber_pool.hpp"
#include "riutils/helper_threads.hpp"
#include "riutils/in_fiber.hpp"
#include "riutils/options.hpp"
#include "riutils/rdma_aggregator.hpp"
#include "riutils/rdma_messenger.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "riutils/ring_set.hpp"
#include "riutils/termination.hpp"
