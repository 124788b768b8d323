// SPDX-License-Identifier: MIT
// The life of a keeper.
#include "keeper.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "job.hpp"
#include "report.hpp"
#include "secret.hpp"

namespace run {

Keeper::Keeper(const Options& options, const JobDirectory& directory, JobFolder folder,
               int launcher)
    : options_(options),
      directory_(directory),
      folder_(std::move(folder)),
      control_(std::exchange(folder_.listener, -1)),
      began_(time_text(std::chrono::system_clock::now())),
      launcher_(launcher) {
  write_all(folder_.lock, fmt::format("{}\n", getpid()));
}

Keeper::~Keeper() {
  if (launcher_ >= 0) close(launcher_);
  folder_.close_all();
}

int Keeper::run() {
  int status = 1;
  std::string reason;
  std::string report;
  try {
    Job job(options_, this);
    status = job.run();
    reason = job.reason();
    report = ending_report(status, reason, job.rendezvous().roster(), job.founders());
  } catch (const std::exception& error) {
    reason = error.what();
    report = ending_report(status, reason, {}, {});
    write_all(STDERR_FILENO, fmt::format("{}: {}\n", options_.name, reason));
  }
  write_all(STDERR_FILENO,
            fmt::format("{}: the job has ended with status {}\n", options_.name, status));
  // Whoever hears of the end may use its name at once.
  directory_.remove(folder_.name);
  tell_launcher(std::max(status, 1), reason);
  control_.finish(report);
  return status;
}

void Keeper::opened(const dsfabric::RendezvousServer& server) {
  const std::string folder = directory_.folder(folder_.name);
  write_secret(folder + "/secret", server.secret());
  write_secret(folder + "/address", server.address());
}

void Keeper::handle(std::span<const pollfd> ready, Job& job) {
  if (launcher_ >= 0) check_start(job);
  control_.handle(ready, [&](const std::string& request) { return answer(request, job); });
}

void Keeper::check_start(Job& job) {
  bool all = true;
  for (const dsfabric::JobMember& each : job.rendezvous().roster()) {
    // It has said who it is, so others know it.
    if (!each.founder || each.pid != 0) continue;
    all = false;
    const Child* const founder = job.founders()[each.process];
    if ((founder != nullptr && !founder->ending()) || std::exchange(gives_up_, true)) continue;
    const Ending ending = founder != nullptr ? *founder->ending() : Ending{1, "failed"};
    job.end(std::max(ending.status, 1),
            fmt::format("rank {} {} before it had joined", each.process, ending.words));
  }
  if (all) tell_launcher(0, job.rendezvous().address());
}

void Keeper::tell_launcher(int status, const std::string& text) {
  if (launcher_ < 0) return;
  write_all(launcher_, fmt::format("{} {}\n", status, text));
  close(std::exchange(launcher_, -1));
}

std::optional<std::string> Keeper::answer(const std::string& request, Job& job) {
  if (request == "members") {
    return report_of({folder_.name, options_.log, began_, options_.elastic, options_.command},
                     job.rendezvous());
  }
  if (request == "end") job.end(128 + SIGTERM, "ended by who attached to it");
  if (request == "end" || request == "wait") return std::nullopt;
  return refusal_report(request);
}

}  // namespace run
