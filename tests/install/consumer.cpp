// SPDX-License-Identifier: MIT
// Opens the shm device from an installed copy, and is refused a device that does not exist.
#include <cstdio>
#include <dtutils/device.hpp>
#include <dtutils/error.hpp>
#include <memory>

int main() {
  const std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  std::printf("opened %s: %s\n", device->info().name.c_str(), device->info().reason.c_str());
  try {
    dtutils::open_device("no_such_device");
  } catch (const dtutils::Error& error) {
    std::printf("refused: %s\n", error.what());
    return 0;
  }
  std::puts("a device that does not exist was opened");
  return 1;
}
