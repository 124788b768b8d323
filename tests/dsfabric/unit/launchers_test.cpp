// SPDX-License-Identifier: MIT
// A process that a launcher started as one of several, without a way to find the others.
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "dsfabric/dsfabric.hpp"
#include "dsfabric/support/environment_variable.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using dsfabric::BootstrapOptions;
using dsfabric::make_bootstrap;
using support::contains;
using support::EnvironmentVariable;

namespace {

std::string refusal(const BootstrapOptions& options = {}) {
  return support::error_text([&] { make_bootstrap(options); });
}

}  // namespace

TEST_CASE("process_of_a_launcher_without_pmix_is_told_what_to_do") {
  struct Mark {
    const char* variable;
    const char* launcher;
  };
  for (const auto& [variable, launcher] :
       {Mark{"SLURM_STEP_NUM_TASKS", "srun"}, Mark{"OMPI_COMM_WORLD_SIZE", "mpirun"},
        Mark{"PMI_SIZE", "the launcher"}}) {
    const EnvironmentVariable mark(variable, "4");
    const std::string text = refusal();
    CHECK_THAT(text, contains(launcher));
    CHECK_THAT(text, contains("4 processes"));
    CHECK_THAT(text, contains("PMIx"));
    CHECK_THAT(text, contains("CARIAMA_ALONE=1"));
  }
}

TEST_CASE("process_that_a_launcher_started_alone_is_a_job") {
  for (const char* number : {"1", "0", "", "many", "4 or 5", "99999999999999"}) {
    CAPTURE(number);
    const EnvironmentVariable mark("SLURM_STEP_NUM_TASKS", number);
    CHECK(make_bootstrap({})->size() == 1);
  }
}

TEST_CASE("process_that_asks_for_it_is_a_job_of_its_own") {
  const EnvironmentVariable mark("SLURM_STEP_NUM_TASKS", "4");
  BootstrapOptions options;
  options.alone = true;
  CHECK(make_bootstrap(options)->size() == 1);
  // A launcher that would be asked, too.
  const EnvironmentVariable rendezvous("CARIAMA_RENDEZVOUS", "127.0.0.1:1");
  CHECK(make_bootstrap(options)->size() == 1);
  const EnvironmentVariable alone("CARIAMA_ALONE", "1");
  CHECK(dsfabric::configure().alone);
}
