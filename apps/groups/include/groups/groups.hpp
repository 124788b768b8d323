// SPDX-License-Identifier: MIT
// All of the service groups.
#pragma once

#include "groups/answer.hpp"
#include "groups/checkpoint.hpp"
#include "groups/durable_state.hpp"
#include "groups/group_options.hpp"
#include "groups/large_multicast.hpp"
#include "groups/log.hpp"
#include "groups/log_recovery.hpp"
#include "groups/ordered_group.hpp"
#include "groups/replicated.hpp"
#include "groups/schedule.hpp"
