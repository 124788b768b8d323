// SPDX-License-Identifier: MIT
// The table of settings: name, meaning, and how text becomes a value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsfabric/config.hpp"

namespace dsfabric {

/// One setting. `read` throws std::invalid_argument that says what it wants instead.
struct Setting {
  /// As in Config: "receive_size".
  std::string_view name;
  std::string_view meaning;
  void (*read)(Config& config, std::string_view text);
  std::string (*show)(const Config& config);
};

/// All of them, in the order of Config. Setup only.
const std::vector<Setting>& settings();

}  // namespace dsfabric
