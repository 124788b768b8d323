// SPDX-License-Identifier: MIT
// Job: fork, exec, and reading two pipes under a deadline.
#include "support/job.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace support {
namespace {

void read_some(int& fd, std::string& into) {
  char part[4096];
  const ssize_t got = read(fd, part, sizeof part);
  if (got > 0) {
    into.append(part, static_cast<std::size_t>(got));
  } else {
    close(std::exchange(fd, -1));
  }
}

}  // namespace

std::vector<std::string> JobResult::out_lines() const {
  std::vector<std::string> lines;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Job::Job(const std::vector<std::string>& command, const JobOptions& options)
    : limit_(options.limit) {
  int in[2], out[2], err[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipes for a test's job");
  }
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (const std::string& each : options.environment) putenv(const_cast<char*>(each.c_str()));
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
  close(in[0]);
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
  // Inputs of tests are shorter than a pipe.
  [[maybe_unused]] const ssize_t put = write(in[1], options.input.data(), options.input.size());
  close(in[1]);
}

Job::~Job() {
  ::kill(-pid_, SIGKILL);
  if (!reaped_) waitpid(pid_, nullptr, 0);
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
}

void Job::signal(int number) noexcept {
  if (!reaped_) ::kill(pid_, number);
}

bool Job::over_limit() const { return std::chrono::steady_clock::now() - begin_ > limit_; }

bool Job::pump() {
  pollfd both[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  if (poll(both, 2, 20) > 0) {
    if (both[0].revents != 0 && out_ >= 0) read_some(out_, result_.out);
    if (both[1].revents != 0 && err_ >= 0) read_some(err_, result_.err);
  }
  return out_ >= 0 || err_ >= 0;
}

bool Job::wait_for_output(const std::string& text) {
  while (result_.out.find(text) == std::string::npos) {
    if (over_limit() || !pump()) return false;
  }
  return true;
}

JobResult Job::wait() {
  const auto kill_if_late = [&] {
    if (over_limit() && !std::exchange(result_.late, true)) ::kill(-pid_, SIGKILL);
  };
  while (pump()) kill_if_late();
  int status = 0;
  while (!reaped_ && waitpid(pid_, &status, WNOHANG) == 0) {
    kill_if_late();
    poll(nullptr, 0, 1);
  }
  reaped_ = true;
  result_.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result_.took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin_);
  return result_;
}

JobResult run_job(const std::vector<std::string>& command, const JobOptions& options) {
  return Job(command, options).wait();
}

std::string built(const std::string& path) {
  // Test programs lie in <build>/tests.
  char self[PATH_MAX] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) {
    throw std::runtime_error("no /proc/self/exe");
  }
  const std::string program(self);
  return program.substr(0, program.rfind("/tests/")) + "/" + path;
}

}  // namespace support
