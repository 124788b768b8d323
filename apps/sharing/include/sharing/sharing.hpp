// SPDX-License-Identifier: MIT
// Umbrella of the service: programs include this one header.
#pragma once

#include "sharing/client.hpp"
#include "sharing/datum.hpp"
#include "sharing/model.hpp"
#include "sharing/reader.hpp"
#include "sharing/space.hpp"
