// SPDX-License-Identifier: MIT
// The launcher's part of a detached job: it makes the keeper, and waits for the start.
#include "detach.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "dtutils/error.hpp"
#include "job_directory.hpp"
#include "keeper.hpp"
#include "output.hpp"

namespace run {
namespace {

/// Opens it anew, and puts a link to it into the folder.
int open_log(const std::string& log, const std::string& folder) {
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || symlink(log.c_str(), (folder + "/log").c_str()) != 0) {
    throw dtutils::Error("--log", fmt::format("cannot write {}", log),
                         "name a file in a folder that you may write to", errno);
  }
  return fd;
}

/// What this process has from whoever started it is not the job's, and might keep somebody waiting.
void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  int from = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (fd > from) close_range(static_cast<unsigned>(from), static_cast<unsigned>(fd - 1), 0);
    from = fd + 1;
  }
  close_range(static_cast<unsigned>(from), ~0u, 0);
}

int keep(const Options& options, const JobDirectory& directory, const JobFolder& folder, int log,
         int launcher) {
  setsid();
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  close_all_but({folder.lock, folder.listener, launcher});
  return Keeper(options, directory, folder, launcher).run();
}

std::string all_of(int fd) {
  std::string text;
  char part[4096];
  for (ssize_t got; (got = read(fd, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

void tell_started(const Options& options, const std::string& address, pid_t keeper,
                  const JobDirectory& directory) {
  write_all(STDOUT_FILENO,
            fmt::format("The job {1} runs; process {2} keeps it.\n"
                        "  output  {3}\n"
                        "  look    {0} --attach {1}\n"
                        "  end     {0} --attach {1} --end\n"
                        "  join    {0} --join {4} --secret-file {5}/secret -n 1 PROGRAM\n",
                        options.name, options.job_name, keeper, options.log, address,
                        directory.folder(options.job_name)));
}

/// What its processes have said may tell why.
int tell_not_started(const Options& options, int status, const std::string& reason) {
  std::ostringstream log;
  log << std::ifstream(options.log).rdbuf();
  write_all(STDERR_FILENO, log.str());
  write_all(STDERR_FILENO, fmt::format("{}: the job {} did not start: {}; its output is in {}\n",
                                       options.name, options.job_name, reason, options.log));
  return status;
}

}  // namespace

int detach(const Options& given) {
  const JobDirectory directory;
  Options options = given;
  if (options.job_name.empty()) options.job_name = fmt::format("job-{}", getpid());
  options.log = options.log.empty() ? directory.default_log(options.job_name)
                                    : std::filesystem::absolute(options.log).string();
  // The numbers of the standard streams are not for other files.
  int spare = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (spare >= 0 && spare <= STDERR_FILENO) spare = open("/dev/null", O_RDWR | O_CLOEXEC);
  close(spare);
  JobFolder folder = directory.claim(options.job_name);
  int told[2] = {-1, -1};
  pid_t keeper = -1;
  try {
    const int log = open_log(options.log, directory.folder(options.job_name));
    if (pipe2(told, O_CLOEXEC) == 0) keeper = fork();
    if (keeper < 0) throw dtutils::Error("--detach", "fork failed", "raise `ulimit -u`", errno);
    if (keeper == 0) _exit(keep(options, directory, folder, log, told[1]));
    close(log);
  } catch (...) {
    directory.remove(options.job_name);
    throw;
  }
  folder.close_all();
  close(told[1]);
  // From here on signals end this process as any other one.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::istringstream answer(all_of(told[0]));
  int status = 1;
  std::string text;
  answer >> status >> std::ws;
  if (!std::getline(answer, text)) {
    (void)directory.find(options.job_name);
    return tell_not_started(options, 1, fmt::format("its keeper, process {}, was killed", keeper));
  }
  if (status != 0) return tell_not_started(options, status, text);
  tell_started(options, text, keeper, directory);
  return 0;
}

}  // namespace run
