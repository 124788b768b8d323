// SPDX-License-Identifier: MIT
// join(): settings, bootstrap, fabric.
#include "dsfabric/join.hpp"

#include <fmt/format.h>

#include <utility>

#include "bootstrap/bootstrap.hpp"
#include "dsfabric/config.hpp"
#include "dsfabric/detail/function_table.hpp"
#include "dsfabric/fabric.hpp"
#include "dsfabric/join_host.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {
namespace {

JoinHost& join_host() noexcept {
  static JoinHost host;
  return host;
}

std::unique_ptr<Bootstrap> bootstrap_for(Config& config) {
  if (join_host()) {
    if (auto hosted = join_host()(config)) return hosted;
  }
  BootstrapOptions options;
  options.start_timeout = config.start_timeout;
  options.alone = config.alone;
  options.build = fmt::format("protocol {}", kProtocolVersion);
  // The digest of a table is that of its build, too: places of functions are part of it.
  options.elastic_build = fmt::format("{}, functions {:016x}", options.build,
                                      detail::FunctionTable::instance().digest());
  return make_bootstrap(options);
}

}  // namespace

void set_join_host(JoinHost host) { join_host() = std::move(host); }

Fabric join(int& argc, char** argv, Config config) {
  Config configured = configure(argc, argv, std::move(config));
  auto bootstrap = bootstrap_for(configured);
  return Fabric(configured, std::move(bootstrap));
}

Fabric join(Config config) {
  Config configured = configure(std::move(config));
  auto bootstrap = bootstrap_for(configured);
  return Fabric(configured, std::move(bootstrap));
}

Fabric join(std::unique_ptr<Bootstrap> bootstrap, Config config) {
  return Fabric(configure(std::move(config)), std::move(bootstrap));
}

}  // namespace dsfabric
