// SPDX-License-Identifier: MIT
// The whole layer: what an application includes.
#pragma once

#include "sst/agreement.hpp"
#include "sst/columns.hpp"
#include "sst/member.hpp"
#include "sst/membership.hpp"
#include "sst/multicast.hpp"
#include "sst/multicast_options.hpp"
#include "sst/multicast_row.hpp"
#include "sst/pace.hpp"
#include "sst/polling_thread.hpp"
#include "sst/predicate_kind.hpp"
#include "sst/predicates.hpp"
#include "sst/quorum.hpp"
#include "sst/row.hpp"
#include "sst/snapshot.hpp"
#include "sst/table.hpp"
#include "sst/table_group.hpp"
#include "sst/table_options.hpp"
#include "sst/versioned.hpp"
#include "sst/when.hpp"
