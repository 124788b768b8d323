// SPDX-License-Identifier: MIT
// The public interface of the service streams: include this one.
#pragma once

#include "streams/address.hpp"
#include "streams/limits.hpp"
#include "streams/listener.hpp"
#include "streams/options.hpp"
#include "streams/over_socket.hpp"
#include "streams/result.hpp"
#include "streams/stream.hpp"
