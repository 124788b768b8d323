// SPDX-License-Identifier: MIT
// The whole layer: what an application includes.
#pragma once

#include "dsfabric/call_context.hpp"
#include "dsfabric/call_record.hpp"
#include "dsfabric/callable.hpp"
#include "dsfabric/calls.hpp"
#include "dsfabric/config.hpp"
#include "dsfabric/fabric.hpp"
#include "dsfabric/function_table.hpp"
#include "dsfabric/ids.hpp"
#include "dsfabric/message.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/pending_reply.hpp"
#include "dsfabric/remote_memory.hpp"
#include "dsfabric/return_slot.hpp"
#include "dsfabric/send_channel.hpp"
#include "dsfabric/send_space.hpp"
#include "dsfabric/thread.hpp"
