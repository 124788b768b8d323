// SPDX-License-Identifier: MIT
// Reads /proc/thread-self/schedstat.
#include "bench/harness/core_wait.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace bench {
namespace {

std::uint64_t waited_ns(const std::string& thread) {
  std::ifstream statistics(thread + "/schedstat");
  std::uint64_t ran_ns = 0;
  std::uint64_t waited_ns = 0;
  statistics >> ran_ns >> waited_ns;
  return statistics ? waited_ns : 0;
}

}  // namespace

std::uint64_t core_wait_ns() { return waited_ns("/proc/thread-self"); }

std::uint64_t core_wait_of_others_ns() {
  std::uint64_t sum = 0;
  std::error_code none;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", none)) {
    sum += waited_ns(thread.path().string());
  }
  return sum - core_wait_ns();
}

}  // namespace bench
