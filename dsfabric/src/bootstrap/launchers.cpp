// SPDX-License-Identifier: MIT
// Launchers that start several processes, by the marks that they leave in the environment.
#include "bootstrap/launchers.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dtutils/error.hpp"
#include "dtutils/parse_number.hpp"

namespace dsfabric {
namespace {

#if defined(CARIAMA_WITH_PMIX)
constexpr const char* kMissing = "but offered them no PMIx, by which they find each other";
constexpr const char* kBuild = nullptr;
#else
constexpr const char* kMissing = "but this build cannot use PMIx, by which they find each other";
constexpr const char* kBuild = "install libpmix-dev and build again";
#endif

struct Launcher {
  const char* name;
  /// Holds the number of processes. Not set where they were started by something else, such as the
  /// script of a batch job.
  const char* variable;
  const char* remedy;
};

constexpr Launcher kLaunchers[] = {
    {"srun", "SLURM_STEP_NUM_TASKS", "use `srun --mpi=pmix` (`srun --mpi=list` says if it can)"},
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "use an mpirun that has PMIx"},
    {"the launcher", "PMI_SIZE", "use the mpirun of Open MPI, or prun"},
};

/// 0: it is not set, or no number.
std::uint32_t number_in(const char* variable) noexcept {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return 0;
  return dtutils::parse_number<std::uint32_t>(text).value_or(0);
}

}  // namespace

void refuse_to_be_left_alone() {
  for (const Launcher& launcher : kLaunchers) {
    const std::uint32_t processes = number_in(launcher.variable);
    if (processes < 2) continue;
    throw dtutils::Error(
        launcher.name, fmt::format("it started {} processes, {}", processes, kMissing),
        fmt::format("{}; or use cariama-run (scripts/run); or, if each is a job of its own, set "
                    "CARIAMA_ALONE=1",
                    kBuild != nullptr ? kBuild : launcher.remedy));
  }
}

}  // namespace dsfabric
