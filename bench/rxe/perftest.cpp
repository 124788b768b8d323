// SPDX-License-Identifier: MIT
// Running perftest and reading its tables.
#include "bench/rxe/perftest.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <vector>

#include "bench/dtutils/hand_signaling.hpp"
#include "bench/rxe/latency.hpp"

namespace link_bench {
namespace {

// `row` is the part of a row of the program's table behind size and iterations.
double run(const Link& link, const bench::Batch& batch, const std::string& program,
           std::uint32_t size, std::uint64_t iterations, std::vector<std::string> settings,
           const std::string& row, double scale) {
  // Beyond this a client waits in vain; the harness gives up a little later.
  constexpr std::chrono::seconds kLimit{50};
  if (!bench::installed(program)) throw bench::Skip(program + ": not installed (Debian: perftest)");
  const dtutils::DeviceInfo& info = link.device->info();
  const int port = 20000 + ::getpid() % 20000;  // two benches at a time must not meet
  std::vector<std::string> command = {program, "-F",
                                      "-d",    info.name,
                                      "-i",    std::to_string(info.port),
                                      "-x",    std::to_string(info.gid_index),
                                      "-m",    std::to_string(128 << info.mtu),
                                      "-p",    std::to_string(port),
                                      "-s",    std::to_string(size),
                                      "-n",    std::to_string(iterations)};
  command.insert(command.end(), settings.begin(), settings.end());

  // The client waits until the server listens (state 0A), however slow the machine is.
  const std::string wait = fmt::format(
      "until grep -q ':{:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6; do sleep 0.02; done; "
      "exec \"$@\" localhost",
      port);
  bench::External external{.program = "sh",
                           .server = {"-c", "exec \"$@\"", "sh"},
                           .client = {"-c", wait, "sh"},
                           .pattern = fmt::format(R"(\n\s*{}\s+{}\s+{})", size, iterations, row),
                           .scale = scale,
                           .head_start = std::chrono::milliseconds(0),
                           .limit = kLimit};
  external.server.insert(external.server.end(), command.begin(), command.end());
  external.client.insert(external.client.end(), command.begin(), command.end());
  return bench::run_external(external, batch.channel().cores());
}

}  // namespace

double perftest_latency(const Link& link, const bench::Batch& batch, const std::string& program,
                        std::uint32_t size) {
  std::vector<std::string> settings = {"-I", std::to_string(link.qp.max_inline())};
  if (program == "ib_send_lat") {
    settings.insert(settings.end(), {"-r", std::to_string(kReceivesAhead)});
  }
  // t_min, t_max, t_typical, in us.
  return run(link, batch, program, size, batch.iterations(), settings, R"(\S+\s+\S+\s+([0-9.]+))",
             1e3);
}

double perftest_bandwidth(const Link& link, const bench::Batch& batch, std::uint32_t size) {
  const std::vector<std::string> settings = {"-I", std::to_string(link.qp.max_inline()),
                                             "-t", std::to_string(HandSignaling::kWindow),
                                             "-Q", std::to_string(HandSignaling::kEvery)};
  // Peak and mean in MiB/s with two decimals, then messages in M/s with six: the column with more
  // digits for the size.
  constexpr std::uint32_t kManyBytes = 4096;
  const bool by_bytes = size >= kManyBytes;
  return run(link, batch, "ib_write_bw", size, HandSignaling::posts_for(batch.iterations()),
             settings, by_bytes ? R"(\S+\s+([0-9.]+))" : R"(\S+\s+\S+\s+([0-9.]+))",
             by_bytes ? 1 << 20 : 1e6 * size);
}

}  // namespace link_bench
