// SPDX-License-Identifier: MIT
// Umbrella of the service: programs include this one header.
#pragma once

#include "monitoring/board.hpp"
#include "monitoring/reporter.hpp"
#include "monitoring/sampler.hpp"
#include "monitoring/watcher.hpp"
#include "monitoring/worker_figures.hpp"
