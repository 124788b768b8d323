// SPDX-License-Identifier: MIT
// Command line parsing.
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <utility>

namespace run {

std::string launcher_name(const char* argv0) {
  const std::string path = argv0;
  return path == "scripts/run" ? path : path.substr(path.rfind('/') + 1);
}

std::optional<Options> parse(int argc, char** argv, int& status) {
  Options options;
  options.name = launcher_name(argv[0]);
  CLI::App app{"Starts a program as several processes that form one job.", options.name};
  app.set_version_flag("--version", options.name + " " CARIAMA_VERSION);
  app.footer(fmt::format(
      "Examples:\n"
      "  {0} -n 4 ./program --its-own arguments\n"
      "  {0} -n 8 --hosts node1:4,node2:4 -- ./program\n"
      "The job ends when all processes have ended, when one fails (after --grace), or at "
      "--timeout.\n"
      "Exit status: that of the first process that failed (128 + signal), 124 after --timeout, "
      "130\n"
      "after Ctrl-C, 2 for a wrong command line. Settings of the fabric go into the environment\n"
      "(CARIAMA_...) or onto the program's own command line (--cariama-...).",
      options.name));
  const std::map<std::string, Bind> binds{
      {"none", Bind::kNone}, {"core", Bind::kCore}, {"zone", Bind::kZone}};
  // mpirun's -np is read as -n with the value "p".
  const auto no_np = [](const std::string& value) -> std::string {
    return value == "p" ? "the number of processes follows -n, as in -n 2; there is no -np" : "";
  };
  app.add_option("-n,--processes", options.processes, "processes in all")
      ->check(CLI::Validator(no_np, ""))
      ->check(CLI::Range(1, 16384))
      ->capture_default_str();
  app.add_option(
      "-t,--threads", options.threads,
      "worker threads of each process (CARIAMA_THREADS); default: its share of the cores");
  app.add_option(
         "--bind", options.bind,
         "processes of a host to: cores of their own, NUMA zones in turn, or none (default)")
      ->transform(CLI::CheckedTransformer(binds, CLI::ignore_case));
  app.add_option("--hosts", options.hosts,
                 "host[:processes], comma separated; reached by ssh without a password")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--address", options.address,
                 "this machine's address, for the others; default: 127.0.0.1, or with --hosts the "
                 "first that is not loopback");
  app.add_option("--port", options.port, "port of the rendezvous; default: any free one");
  app.add_option("--elastic", options.elastic,
                 "others may join while the job runs, until so many have been in it; it ends when "
                 "all have, and goes on when one fails")
      ->check(CLI::Range(1, 65535));
  app.add_option("--replace", options.replace,
                 "with --elastic: seconds after which another process joins in the place of one "
                 "that failed, while others live")
      ->check(CLI::NonNegativeNumber);
  auto* const join = app.add_option(
      "--join", options.join, "address and port of a running elastic job, to start processes in");
  join->excludes("--elastic")->excludes("--hosts")->excludes("--address")->excludes("--port");
  app.add_option("--secret-file", options.secret_file,
                 "--elastic writes the secret of the job there, for its owner alone; --join reads "
                 "it (default: CARIAMA_SECRET)");
  app.add_option("--timeout", options.timeout, "seconds after which the job is ended; 0: never")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--grace", options.grace,
                 "seconds that the others have after one has failed, before they are ended")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--keep-going", options.keep_going, "let the others run on when one has failed");
  app.add_flag("!--no-prefix", options.prefix, "pass output on as it is, without [rank]");
  app.add_option("--env", options.environment, "NAME=VALUE for all processes; repeatable")
      ->allow_extra_args(false);
  app.add_option("--kill-rank", options.kill_rank, "for tests: kill this rank")
      ->needs(app.add_option("--kill-after", options.kill_after, "for tests: after so many seconds")
                  ->check(CLI::NonNegativeNumber));
  app.prefix_command();  // the program and its arguments are what remains
  try {
    app.parse(argc, argv);
    options.command = app.remaining();
    if (!options.command.empty() && options.command[0] == "--") {
      options.command.erase(options.command.begin());
    }
    if (options.command.empty()) throw CLI::RequiredError("the program to start");
    if (options.command[0].front() == '-') throw CLI::ExtrasError({options.command[0]});
    for (const std::string& each : options.environment) {
      if (each.find('=') == std::string::npos || each.front() == '=') {
        throw CLI::ValidationError("--env", "\"" + each + "\" is not NAME=VALUE");
      }
    }
    if (options.elastic != 0 && options.elastic < options.processes) {
      throw CLI::ValidationError("--elastic", "it is less than the processes that start the job");
    }
    if (options.replace && options.elastic == 0) {
      throw CLI::ValidationError("--replace", "it is for --elastic");
    }
    if (!options.secret_file.empty() && options.elastic == 0 && options.join.empty()) {
      throw CLI::ValidationError("--secret-file", "it is for --elastic and --join");
    }
    if (options.kill_rank && *options.kill_rank >= options.processes) {
      throw CLI::ValidationError("--kill-rank", "there is no such rank");
    }
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  return options;
}

}  // namespace run
