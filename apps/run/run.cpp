// SPDX-License-Identifier: MIT
// The launcher: starts a program as several processes of one job (scripts/run).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <exception>

#include "attach.hpp"
#include "detach.hpp"
#include "job.hpp"
#include "options.hpp"

namespace {

int launch(const run::Options& options) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return options.detach ? run::detach(options) : run::Job(options).run();
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  const auto options = run::parse(argc, argv, status);
  if (!options) return status;
  try {
    return options->attach ? run::attach(*options) : launch(*options);
  } catch (const std::exception& error) {
    run::write_all(STDERR_FILENO, fmt::format("{}: {}\n", options->name, error.what()));
    return 1;
  }
}
