// SPDX-License-Identifier: MIT
// Opens the device that the environment names.
#include "support/device_under_test.hpp"

#include <cstdlib>

#include "dtutils/limits.hpp"
#include "support/visible_threads.hpp"

namespace support {
namespace {

bool simulated = false;
bool visible_threads = false;

}  // namespace

std::string device_name() {
  const char* name = std::getenv("CARIAMA_TEST_DEVICE");
  return name != nullptr && *name != '\0' ? name : "shm";
}

bool on_simulated_device() { return device_name() == "sim"; }

dtutils::Simulation& simulation_under_test() {
  const char* const seed = std::getenv("CARIAMA_TEST_SEED");
  // As long as the process, since the thread that has entered it never leaves it.
  static dtutils::Simulation& simulation =
      *new dtutils::Simulation({.seed = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1,
                                .disorder = {.jitter = std::chrono::microseconds(5),
                                             .torn_writes = 4,
                                             .not_ready = 16,
                                             .lost = 200,
                                             .any_order = true},
                                .time_limit = std::chrono::hours(1000),
                                .visible_threads = visible_threads});
  simulated = true;
  if (dtutils::Simulation::current() == nullptr) simulation.enter(0);
  return simulation;
}

bool show_simulated_threads() {
  if (!simulated) visible_threads = true;
  return visible_threads;
}

std::unique_ptr<dtutils::Device> open_device_under_test() {
  if (on_simulated_device()) simulation_under_test();
  return dtutils::open_device(device_name());
}

std::chrono::milliseconds failure_limit(const dtutils::Device& device) {
  using std::chrono::milliseconds;
  if (device.info().kind == dtutils::DeviceKind::kShm) return milliseconds(1000);
  // An adapter may take up to four times the time-out for each try (IB spec, 9.7.6.1.3).
  constexpr double kTimeoutMs = 4.096e-3 * (1u << dtutils::kAckTimeout);
  constexpr double kLimitMs = 4 * kTimeoutMs * (1 + dtutils::kRetryCount);
  return milliseconds(static_cast<int>(kLimitMs));
}

bool notices_idle_death(const dtutils::Device& device) {
  return device.info().kind == dtutils::DeviceKind::kShm;
}

bool checks_requests(const dtutils::Device& device) {
  return device.info().kind != dtutils::DeviceKind::kVerbs;
}

}  // namespace support
