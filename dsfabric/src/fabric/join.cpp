// SPDX-License-Identifier: MIT
// join(): settings, bootstrap, fabric.
#include <fmt/format.h>

#include "bootstrap/bootstrap.hpp"
#include "dsfabric/config.hpp"
#include "dsfabric/detail/function_table.hpp"
#include "dsfabric/fabric.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {
namespace {

std::unique_ptr<Bootstrap> bootstrap_for(const Config& config) {
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

Fabric join(int& argc, char** argv, Config config) {
  const Config configured = configure(argc, argv, std::move(config));
  return Fabric(configured, bootstrap_for(configured));
}

Fabric join(Config config) {
  const Config configured = configure(std::move(config));
  return Fabric(configured, bootstrap_for(configured));
}

Fabric join(std::unique_ptr<Bootstrap> bootstrap, Config config) {
  return Fabric(configure(std::move(config)), std::move(bootstrap));
}

}  // namespace dsfabric
