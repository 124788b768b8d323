// SPDX-License-Identifier: MIT
// All of adaptation.
#pragma once

#include "adaptation/decider.hpp"
#include "adaptation/node.hpp"
#include "adaptation/sites.hpp"
