// SPDX-License-Identifier: MIT
// join(): settings, bootstrap, fabric.
#include "join.hpp"

#include <fmt/format.h>

#include "dsfabric/config.hpp"
#include "limits.hpp"

namespace dsfabric {
namespace {

Fabric join_configured(const Config& config) {
  BootstrapOptions options;
  options.start_timeout = config.start_timeout;
  options.build = fmt::format("protocol {}", kProtocolVersion);
  return make_fabric(std::make_unique<Core>(config, make_bootstrap(options)));
}

}  // namespace

Fabric make_fabric(std::unique_ptr<Core> core) { return Fabric(std::move(core)); }

Fabric join(int& argc, char** argv, Config config) {
  return join_configured(configure(argc, argv, std::move(config)));
}

Fabric join(Config config) { return join_configured(configure(std::move(config))); }

}  // namespace dsfabric
