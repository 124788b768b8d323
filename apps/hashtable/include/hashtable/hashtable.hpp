// SPDX-License-Identifier: MIT
// Everything of the service hashtable.
#pragma once

#include "hashtable/cost.hpp"
#include "hashtable/hash_table.hpp"
#include "hashtable/options.hpp"
