// SPDX-License-Identifier: MIT
// The store: a member for each process of a job, and redis-cli talks to any of them.
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>

#include "common/command_line.hpp"
#include "store/member.hpp"

namespace {

std::atomic<bool> stop{false};

void on_signal(int) { stop.store(true, std::memory_order_relaxed); }

/// Which of the members this process is: its number in the job, or that of the one whose place it
/// takes, as the launcher says.
std::uint32_t place_of(const dsfabric::Fabric& fabric, bool& replaced) {
  const char* const place = std::getenv("CARIAMA_PLACE");
  replaced = place != nullptr;
  return replaced ? static_cast<std::uint32_t>(std::atoi(place)) : fabric.process().value;
}

/// A folder for each member below `folder`.
std::string folder_of(const std::string& folder, std::uint32_t rank) {
  if (folder.empty()) return {};
  (void)::mkdir(folder.c_str(), 0755);
  return fmt::format("{}/{}", folder, rank);
}

}  // namespace

int main(int argc, char** argv) try {
  std::uint64_t port = 7000, max_message = 65536, checkpoint = 256, patience = 0, max_command = 64;
  std::string folder;
  store::MemberOptions options;
  dsfabric::Config config;
  config.threads = 1;
  // A member that is stopped alone does not wait for the others.
  config.leave_timeout = std::chrono::milliseconds(500);
  common::CommandLine line{"A replicated key-value store; start several by scripts/store."};
  line.option("--port", port, "Member i listens on this port + i", 1, 65'000)
      .option("--address", options.server.address, "Where it listens")
      .option("--data", folder, "Folder for the data of all members here; default: none is kept")
      .option("--name", options.name, "Name of the store; its data are refused under another one")
      .option("--max-message", max_message, "Bytes of a message of the group", 1024,
              sst::kMaxMessage)
      .option("--max-command-mib", max_command, "MiB of a command or transaction at most", 1, 512)
      .option("--checkpoint-mib", checkpoint, "MiB of log until the next checkpoint", 1, 1 << 20)
      .option("--patience", patience, "ms after which a silent member is removed; 0: never")
      .flag("--sync", options.sync,
            "Answer when all members have the command on their disks (with --data)")
      .flag("--cut-damage", options.cut_damage,
            "Cut a damaged log where the damage begins; the rest comes from the others");
  if (const auto status = line.parse(argc, argv, config)) return *status;
  if (options.sync && folder.empty()) {
    fmt::print(stderr, "store: --sync needs --data\n");
    return 2;
  }
  signal(SIGTERM, on_signal);
  signal(SIGINT, on_signal);
  // A file that may not grow is an error of the disk, and no reason to die.
  signal(SIGXFSZ, SIG_IGN);

  dsfabric::Fabric fabric = dsfabric::join(config);
  const std::uint32_t rank = place_of(fabric, options.replaced);
  options.server.port = static_cast<std::uint16_t>(port + rank);
  options.folder = folder_of(folder, rank);
  options.max_message = static_cast<std::uint32_t>(max_message);
  options.max_command = max_command << 20;
  options.checkpoint_every = checkpoint << 20;
  options.patience = std::chrono::milliseconds(patience);
  sst::TableGroup tables{fabric, {.threads = 1}};
  store::Member member{tables, options};
  if (!member.join(stop)) return EXIT_SUCCESS;
  fmt::print("member {} listens on {}:{}\n", rank, options.server.address, member.port());
  std::fflush(stdout);
  if (member.run(stop)) return EXIT_SUCCESS;
  fmt::print(stderr, "store: this member was removed by the others\n");
  return EXIT_FAILURE;
} catch (const std::exception& error) {
  fmt::print(stderr, "store: {}\n", error.what());
  return EXIT_FAILURE;
}
