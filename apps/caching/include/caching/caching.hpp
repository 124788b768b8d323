// SPDX-License-Identifier: MIT
// Umbrella of the service: programs include this one header.
#pragma once

#include "caching/cache.hpp"
#include "caching/document.hpp"
#include "caching/options.hpp"
