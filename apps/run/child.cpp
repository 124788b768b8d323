// SPDX-License-Identifier: MIT
// fork, exec, ssh and the pipes between.
#include "child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "dsfabric/rendezvous_server.hpp"
#include "dtutils/error.hpp"

namespace run {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw dtutils::Error("launcher", "no pipe for a process' output", "raise `ulimit -n`", errno);
  }
  return {ends[0], ends[1]};
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// The command for the shell at the other host. The secret comes as the first line of its input,
/// which stays open as long as the launcher lives: at its end the program is killed.
std::string remote_command(const Options& options, const std::vector<std::string>& environment) {
  std::array<char, 4096> folder{};
  std::string text =
      fmt::format("IFS= read -r {0}; export {0}; ", dsfabric::RendezvousServer::kSecretVariable);
  for (const std::string& each : environment) text += fmt::format("export {}; ", quoted(each));
  if (getcwd(folder.data(), folder.size()) != nullptr) {
    text += fmt::format("cd {} || exit 127; ", quoted(folder.data()));
  }
  text += "exec 3<&0; ";
  for (const std::string& each : options.command) text += quoted(each) + " ";
  text +=
      "</dev/null 3<&- & p=$!; (cat <&3 >/dev/null; kill -9 $p) >/dev/null 2>&1 & w=$!; "
      "wait $p; s=$?; kill $w 2>/dev/null; exit $s";
  return text;
}

[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  write_all(STDERR_FILENO, fmt::format("cannot start {}: {}\n", command[0], std::strerror(errno)));
  _exit(127);
}

}  // namespace

Child::Child(std::uint32_t rank, const Place& place, const Options& options,
             const std::vector<std::string>& environment, const std::string& secret)
    : rank_(rank), remote_(!place.host.empty()) {
  std::vector<std::string> command = options.command;
  if (remote_) {
    command = {"ssh", "-o", "BatchMode=yes", place.host, remote_command(options, environment)};
  }
  const auto cores = remote_ ? std::nullopt : cores_for(place, options.bind);
  const Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();
  const pid_t launcher = getpid();
  pid_ = fork();
  if (pid_ < 0) throw dtutils::Error("launcher", "fork failed", "raise `ulimit -u`", errno);
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(1);
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(remote_ || rank == 0 ? in.read : open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(out.write, STDOUT_FILENO);
    dup2(err.write, STDERR_FILENO);
    if (cores) sched_setaffinity(0, sizeof *cores, &*cores);
    for (const char* const variable : dsfabric::RendezvousServer::kPmixVariables)
      unsetenv(variable);
    if (!remote_) {
      for (const std::string& each : environment) putenv(const_cast<char*>(each.c_str()));
      setenv(dsfabric::RendezvousServer::kSecretVariable, secret.c_str(), 1);
    }
    become(command);
  }
  setpgid(pid_, pid_);
  close(in.read);
  close(out.write);
  close(err.write);
  input_ = in.write;
  const std::string prefix = options.prefix ? fmt::format("[{}] ", rank) : std::string();
  outputs_.emplace_back(out.read, STDOUT_FILENO, prefix);
  outputs_.emplace_back(err.read, STDERR_FILENO, prefix);
  fcntl(input_, F_SETFL, fcntl(input_, F_GETFL) | O_NONBLOCK);
  if (remote_) {
    pending_input_ = secret + "\n";
    flush_input();
  } else if (rank != 0) {
    close(std::exchange(input_, -1));
  }
}

Child::~Child() {
  if (input_ >= 0) close(input_);
  // The group may outlive its first process.
  kill(-pid_, SIGKILL);
  if (running()) waitpid(pid_, nullptr, 0);
}

void Child::kill_with(int signal) noexcept {
  if (running()) kill(-pid_, signal);
}

bool Child::reap() {
  int status = 0;
  if (!running() || waitpid(pid_, &status, WNOHANG) != pid_) return false;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    ending_ = {128 + signal, fmt::format("was killed by signal {} ({})", signal,
                                         sigdescr_np(signal) ? sigdescr_np(signal) : "unknown")};
  } else {
    ending_ = {WEXITSTATUS(status), fmt::format("exited with status {}", WEXITSTATUS(status))};
  }
  return true;
}

void Child::feed(const std::string& text) {
  if (remote_) return;
  pending_input_ += text;
  input_ends_ = input_ends_ || text.empty();
  flush_input();
}

void Child::flush_input() {
  if (input_ < 0) return;
  const ssize_t put = write(input_, pending_input_.data(), pending_input_.size());
  if (put > 0) pending_input_.erase(0, static_cast<std::size_t>(put));
  const bool refused = put < 0 && errno != EAGAIN && errno != EINTR;
  if (refused || (input_ends_ && pending_input_.empty())) close(std::exchange(input_, -1));
}

}  // namespace run
