// SPDX-License-Identifier: MIT
// The model of adapters and network as a line of text, for command lines.
#pragma once

#include <string>
#include <string_view>

#include "dtutils/simulation.hpp"

namespace simulation {

/// `model` with the changes that `text` asks for: "post=50,mtu=1024", members of
/// dtutils::NetworkModel by name, with whole numbers, times in nanoseconds. Empty: none. Throws
/// dtutils::Error that names what is wrong. Setup only.
dtutils::NetworkModel read_model(std::string_view text, dtutils::NetworkModel model = {});

/// The text by which read_model() makes `model` of the default: what differs from it. Setup only.
std::string write_model(const dtutils::NetworkModel& model);

}  // namespace simulation
