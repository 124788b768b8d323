// SPDX-License-Identifier: MIT
// NodeFigures: reading /proc.
#include "node_figures.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>

#include "dtutils/error.hpp"
#include "page.hpp"

namespace monitoring::detail {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// A file of /proc, closed on exec.
File open_file(const char* path) noexcept { return File(std::fopen(path, "re")); }

constexpr std::uint64_t kKilo = 1024;

}  // namespace

NodeFigures::NodeFigures(Page& page)
    : threads_(page.counter("node.threads", "", Kind::kLevel)),
      running_(page.counter("node.running", "", Kind::kLevel)),
      free_(page.counter("node.free", "B", Kind::kLevel)),
      received_(page.counter("node.received", "B", Kind::kTotal)),
      sent_(page.counter("node.sent", "B", Kind::kTotal)),
      own_threads_(page.counter("process.threads", "", Kind::kLevel)),
      resident_(page.counter("process.resident", "B", Kind::kLevel)) {
  if (!take_load() || !take_memory() || !take_network() || !take_process()) {
    throw dtutils::Error("monitoring", "/proc does not tell of this node as proc(5) says",
                         "mount /proc, or publish counters of the program alone");
  }
}

void NodeFigures::take() noexcept {
  take_load();
  take_memory();
  take_network();
  take_process();
}

bool NodeFigures::take_load() noexcept {
  const File file = open_file("/proc/loadavg");
  unsigned long running = 0, threads = 0;
  if (!file || std::fscanf(file.get(), "%*s %*s %*s %lu/%lu", &running, &threads) != 2) {
    return false;
  }
  running_.set(running);
  threads_.set(threads);
  return true;
}

bool NodeFigures::take_memory() noexcept {
  const File file = open_file("/proc/meminfo");
  std::array<char, 128> line;
  while (file && std::fgets(line.data(), line.size(), file.get()) != nullptr) {
    unsigned long kilobytes = 0;
    if (std::sscanf(line.data(), "MemAvailable: %lu", &kilobytes) == 1) {
      free_.set(kilobytes * kKilo);
      return true;
    }
  }
  return false;
}

bool NodeFigures::take_network() noexcept {
  const File file = open_file("/proc/net/dev");
  if (!file) return false;
  std::array<char, 512> line;
  unsigned long received = 0, sent = 0;
  while (std::fgets(line.data(), line.size(), file.get()) != nullptr) {
    const char* const numbers = std::strchr(line.data(), ':');
    unsigned long in = 0, out = 0;
    if (numbers != nullptr &&
        std::sscanf(numbers + 1, "%lu %*u %*u %*u %*u %*u %*u %*u %lu", &in, &out) == 2) {
      received += in;
      sent += out;
    }
  }
  received_.set(received);
  sent_.set(sent);
  return true;
}

bool NodeFigures::take_process() noexcept {
  const File file = open_file("/proc/self/stat");
  std::array<char, 1024> text{};
  if (!file || std::fgets(text.data(), text.size(), file.get()) == nullptr) return false;
  // The name of the program may hold anything; the last parenthesis ends it. Fields 20 and 24.
  const char* const rest = std::strrchr(text.data(), ')');
  unsigned long threads = 0, pages = 0;
  if (rest == nullptr ||
      std::sscanf(rest + 1,
                  " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %*s "
                  "%*s %*s %lu",
                  &threads, &pages) != 2) {
    return false;
  }
  own_threads_.set(threads);
  resident_.set(pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  return true;
}

}  // namespace monitoring::detail
