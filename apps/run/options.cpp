// SPDX-License-Identifier: MIT
// Command line parsing.
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <utility>
#include <vector>

#include "job_directory.hpp"

namespace run {
namespace {

void check_name(const std::string& what, const std::string& name) {
  if (JobDirectory::is_name(name)) return;
  throw CLI::ValidationError(
      what, "\"" + name + "\" is no name of a job: at most 64 letters, digits, - and _");
}

void check_attached(const CLI::App& app, const Options& options) {
  for (const CLI::Option* const each : app.get_options()) {
    const std::string name = each->get_name();
    const bool looks =
        name == "--attach" || name == "--follow" || name == "--end" || name == "--json";
    if (each->count() > 0 && !looks) {
      throw CLI::ValidationError("--attach", "it starts nothing: " + name + " is for a new job");
    }
  }
  if (!options.command.empty()) {
    throw CLI::ValidationError("--attach", "it starts nothing: " + options.command[0]);
  }
  if (!options.attach->empty()) return check_name("--attach", *options.attach);
  if (options.follow || options.end) {
    throw CLI::ValidationError("--attach", "--follow and --end need the name of a job");
  }
}

/// Jobs that outlive their launcher.
void add_detached(CLI::App& app, Options& options) {
  auto* const detach = app.add_flag("--detach", options.detach,
                                    "with --elastic: return when the job has started; it goes on "
                                    "without this launcher and its terminal");
  app.add_option_function<std::string>(
         "--name",
         [&](const std::string& name) {
           check_name("--name", name);
           options.job_name = name;
         },
         "the name of the detached job; default: one that nobody has")
      ->needs(detach);
  app.add_option("--log", options.log, "output of the detached job; default: a file that is told")
      ->needs(detach);
  auto* const attach =
      app.add_option_function<std::vector<std::string>>(
             "--attach",
             [&](const std::vector<std::string>& names) {
               options.attach = names.empty() ? std::string() : names[0];
             },
             "look at a detached job of yours: its members; without a name: list all")
          ->expected(0, 1)
          ->type_name("[NAME]");
  auto* const follow =
      app.add_flag("--follow", options.follow,
                   "with --attach: print its output until it ends, and exit with its status")
          ->needs(attach);
  app.add_flag("--end", options.end, "with --attach: end the job, and say how its processes ended")
      ->needs(attach)
      ->excludes(follow);
  app.add_flag("--json", options.json, "with --attach: print JSON")
      ->needs(attach)
      ->excludes(follow);
}

}  // namespace

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
      "  {0} -n 2 --elastic 20 --detach --name web ./program\n"
      "  {0} --attach web --follow\n"
      "The job ends when all processes have ended, when one fails (after --grace), or at "
      "--timeout.\n"
      "Exit status: that of the first process that failed (128 + signal), 124 after --timeout, "
      "130\n"
      "after Ctrl-C, 2 for a wrong command line. Settings of the library go into the environment\n"
      "(CARIAMA_...) or onto the program's command line (--cariama-...); its --help lists them.",
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
  add_detached(app, options);
  app.prefix_command();  // the program and its arguments are what remains
  try {
    app.parse(argc, argv);
    options.command = app.remaining();
    if (!options.command.empty() && options.command[0] == "--") {
      options.command.erase(options.command.begin());
    }
    if (options.attach) {
      check_attached(app, options);
      return options;
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
    if (options.detach && options.elastic == 0) {
      throw CLI::ValidationError(
          "--detach", "it is for a job with --elastic, of which others can ask who is in it");
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
