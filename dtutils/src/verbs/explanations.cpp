// SPDX-License-Identifier: MIT
// Sentences about a system that refuses RDMA, and what mends it.
#include "verbs/explanations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace dtutils::verbs {

SystemFacts read_system_facts() {
  SystemFacts facts;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", ignored)) {
    facts.kernel_devices.push_back(entry.path().filename());
  }
  std::ranges::sort(facts.kernel_devices);
  facts.user_verbs = std::filesystem::exists("/sys/class/infiniband_verbs", ignored);
  return facts;
}

std::string explain_absence(const SystemFacts& facts, std::string_view wanted) {
  if (facts.kernel_devices.empty()) {
    return "the kernel has no RDMA device: is the adapter's driver loaded (`lspci -k`)? without an "
           "adapter, `modprobe rdma_rxe && rdma link add rxe0 type rxe netdev <interface>` makes a "
           "software one";
  }
  const bool wanted_exists =
      std::ranges::find(facts.kernel_devices, wanted) != facts.kernel_devices.end();
  if (!wanted.empty() && !wanted_exists) {
    return fmt::format("the kernel's RDMA devices are called {}",
                       fmt::join(facts.kernel_devices, ", "));
  }
  const std::string names = wanted.empty()
                                ? fmt::format("{}", fmt::join(facts.kernel_devices, ", "))
                                : std::string(wanted);
  if (!facts.user_verbs) {
    return fmt::format("the kernel has {}, but does not offer it to programs: `modprobe ib_uverbs`",
                       names);
  }
  return fmt::format(
      "the kernel has {}, but libibverbs has no driver for it: install ibverbs-providers", names);
}

std::string remedy_for_open(int code, std::string_view node) {
  switch (code) {
    case EACCES:
    case EPERM:
      return fmt::format(
          "this user may not open {0}: `sudo chmod a+rw {0}`, a udev rule (rdma-core's package has "
          "one), or join its group (`ls -l {0}`)",
          node);
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return fmt::format(
          "{} does not exist: `modprobe ib_uverbs`; in a container, pass it in "
          "(`--device /dev/infiniband`)",
          node);
    case EMFILE:
    case ENFILE:
      return "too many open files: close some, or raise `ulimit -n`";
    default:
      return "the kernel log may say more (`dmesg`)";
  }
}

std::string remedy_for_pinning(int code, std::size_t length, rlim_t memlock) {
  switch (code) {
    case ENOMEM:
    case EAGAIN:
    case EPERM:
      if (memlock != RLIM_INFINITY) {
        return fmt::format(
            "this process may lock {} in all: raise it with `ulimit -l unlimited` (for good: "
            "\"* - memlock unlimited\" in /etc/security/limits.conf, LimitMEMLOCK=infinity for a "
            "service, --ulimit memlock=-1 for a container), or use less",
            size_in_words(memlock));
      }
      return fmt::format(
          "locked memory is not limited here, so memory itself or the device's "
          "translation table has no room for {}: use less (`free -h`)",
          size_in_words(length));
    case EFAULT:
      return "part of that range is not mapped in this process, or is read-only";
    case EINVAL:
    case EOPNOTSUPP:
      return "the device does not register such memory or access: remote write and remote atomics "
             "need local write, and the pages must be writable";
    default:
      return "the kernel log may say more (`dmesg`)";
  }
}

rlim_t memlock_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

std::string size_in_words(std::size_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

}  // namespace dtutils::verbs
