// SPDX-License-Identifier: MIT
// Devices are listed and opened by name; a wrong name is answered with the right ones.
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "dtutils/device.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

namespace {

using dtutils::DeviceEntry;
using dtutils::DeviceKind;
using dtutils::list_devices;
using dtutils::open_device;
using support::contains;
using support::error_text;

/// Sets a variable of the environment for one scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

bool has_usable_verbs_device() {
  return std::ranges::any_of(list_devices(), [](const DeviceEntry& entry) {
    return entry.kind == DeviceKind::kVerbs && entry.usable;
  });
}

}  // namespace

TEST_CASE("list_of_devices_ends_with_shm_which_is_always_usable") {
  const std::vector<DeviceEntry> devices = list_devices();
  REQUIRE(!devices.empty());
  CHECK(devices.back().name == "shm");
  CHECK(devices.back().kind == DeviceKind::kShm);
  CHECK(devices.back().usable);
}

TEST_CASE("unknown_device_is_refused_with_the_list_of_those_that_exist") {
  const std::string text = error_text([] { open_device("mlx5_99"); });
  CHECK_THAT(text, contains("device \"mlx5_99\": there is no such device") &&
                       contains("devices here:") && contains("shm (always works"));
}

TEST_CASE("unknown_device_carries_its_errno") {
  try {
    open_device("");
    FAIL("an empty name was accepted");
  } catch (const dtutils::Error& error) {
    CHECK(error.code() == ENODEV);
    CHECK(error.object() == "device \"\"");
  }
}

TEST_CASE("shm_opens_by_name_and_says_why_it_was_chosen") {
  const auto device = open_device("shm");
  CHECK(device->info().name == "shm");
  CHECK(device->info().kind == DeviceKind::kShm);
  CHECK(device->info().atomics);
  CHECK(device->info().atomics_with_cpu);
  CHECK(device->info().reads_in_order);
  CHECK(!device->info().reason.empty());
}

TEST_CASE("auto_falls_back_to_shm_and_says_what_is_missing") {
  if (has_usable_verbs_device()) {
    WARN("SKIPPED: this machine has a usable verbs device");
    return;
  }
  const Variable unset("CARIAMA_DEVICE", "");
  const auto device = open_device("auto");
  CHECK(device->info().kind == DeviceKind::kShm);
  CHECK_THAT(device->info().reason, contains("shm: no verbs device"));
}

TEST_CASE("environment_names_the_device_that_auto_means") {
  {
    const Variable named("CARIAMA_DEVICE", "shm");
    CHECK_THAT(open_device("auto")->info().reason, contains("named by CARIAMA_DEVICE"));
  }
  const Variable wrong("CARIAMA_DEVICE", "mlx5_99");
  CHECK_THAT(error_text([] { open_device(); }), contains("\"mlx5_99\": there is no such device"));
  CHECK(open_device("shm")->info().name == "shm");
}

TEST_CASE("two_devices_of_one_host_carry_the_same_host_number") {
  const auto one = open_device("shm");
  const auto other = open_device("shm");
  CHECK(one->info().host == other->info().host);
  CHECK(one->info().host != 0);
}
