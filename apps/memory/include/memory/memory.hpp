// SPDX-License-Identifier: MIT
// Umbrella of the service memory: a program includes this one header.
#pragma once

#include "dsfabric/dsfabric.hpp"
#include "memory/batch.hpp"
#include "memory/client.hpp"
#include "memory/global_ptr.hpp"
#include "memory/options.hpp"
#include "memory/space.hpp"
#include "memory/status.hpp"
#include "memory/subscription.hpp"
