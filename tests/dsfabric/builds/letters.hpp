// SPDX-License-Identifier: MIT
// What letter.cpp defines when it is compiled for a, and for b.
#pragma once

#include "dsfabric/dsfabric.hpp"

/// Whether the neighbour, asked for the letter, gives it.
bool ask_a(dsfabric::Thread& self);
bool ask_b(dsfabric::Thread& self);
