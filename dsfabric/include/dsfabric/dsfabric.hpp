// SPDX-License-Identifier: MIT
// The whole layer: what an application includes.
#pragma once

#include "dsfabric/bootstrap.hpp"
#include "dsfabric/call_context.hpp"
#include "dsfabric/call_status.hpp"
#include "dsfabric/callable.hpp"
#include "dsfabric/calls.hpp"
#include "dsfabric/config.hpp"
#include "dsfabric/execution_slots.hpp"
#include "dsfabric/fabric.hpp"
#include "dsfabric/global_ptr.hpp"
#include "dsfabric/handler_scope.hpp"
#include "dsfabric/ids.hpp"
#include "dsfabric/message.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/register_function.hpp"
#include "dsfabric/remote_future.hpp"
#include "dsfabric/remote_memory.hpp"
#include "dsfabric/return_slot.hpp"
#include "dsfabric/send_channel.hpp"
#include "dsfabric/send_space.hpp"
#include "dsfabric/symmetric_buffer.hpp"
#include "dsfabric/termination.hpp"
#include "dsfabric/thread.hpp"
#include "dsfabric/travels.hpp"
// Words that peers write into memory of ours: load_device_word, store_device_word.
#include "dtutils/device_memory.hpp"
