// SPDX-License-Identifier: MIT
// fork, exec and a pipe.
#include "bench/harness/external.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include "bench/harness/batch.hpp"
#include "bench/harness/clock.hpp"
#include "bench/harness/pin.hpp"
#include "bench/harness/process_group.hpp"

namespace bench {
namespace {

// The last part of a program's output, enough to see why it failed.
std::string tail(const std::string& text) {
  constexpr std::size_t kTail = 500;
  return text.size() <= kTail ? text : "..." + text.substr(text.size() - kTail);
}

// Pointers into `strings`, ended by a null pointer, as execve(2) wants them.
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// One run of the program; killed, if it still runs, and reaped at the end of its scope.
class Child {
 public:
  // Its output goes to the descriptor `output`.
  Child(const External& external, const std::vector<std::string>& arguments,
        const std::vector<int>& cores, int index, int output)
      : program_(external.program) {
    std::vector<std::string> command = {"env"};
    for (const auto& [name, value] : external.environment) command.push_back(name + "=" + value);
    command.push_back(external.program);
    command.insert(command.end(), arguments.begin(), arguments.end());
    const std::vector<char*> argv = pointers_to(command);
    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "cannot fork");
    if (pid_ == 0) exec(argv, cores, index, output);
  }
  ~Child() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reaps it, at most until `deadline_ns`. Throws when it failed; `output` says why.
  void join(double deadline_ns, const std::string& output) {
    constexpr std::chrono::milliseconds kLook{1};
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (now_ns() > deadline_ns) throw Skip(program_ + ": does not end");
      std::this_thread::sleep_for(kLook);
    }
    pid_ = -1;
    if (status != 0) {
      throw Skip(fmt::format("{} {}: {}", program_, describe_end(status), tail(output)));
    }
  }

 private:
  // Only async-signal-safe calls: this process has a second thread (Watchdog).
  [[noreturn]] static void exec(const std::vector<char*>& argv, const std::vector<int>& cores,
                                int index, int output) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_this_thread(cores, index);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }

  std::string program_;
  pid_t pid_ = -1;
};

struct Descriptor {
  int value = -1;
  ~Descriptor() { close(); }
  void close() {
    if (value >= 0) ::close(value);
    value = -1;
  }
};

std::string read_all(int descriptor, double deadline_ns, const std::string& program) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const double left_ms = (deadline_ns - now_ns()) / 1e6;
    pollfd polled{descriptor, POLLIN, 0};
    const int ready = left_ms > 0 ? ::poll(&polled, 1, static_cast<int>(left_ms) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) throw Skip(program + ": too slow, stopped: " + tail(text));
    const ssize_t got = ::read(descriptor, buffer, sizeof(buffer));
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

bool installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view left = path == nullptr ? "" : path;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(':'), left.size());
    const std::string candidate = std::string(left.substr(0, end)) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

double parse_figure(const std::string& text, const std::string& pattern) {
  const std::regex wanted(pattern);
  std::string last;
  for (std::sregex_iterator found(text.begin(), text.end(), wanted), end; found != end; ++found) {
    last = (*found)[1];
  }
  try {
    return std::stod(last);
  } catch (const std::logic_error&) {
    throw Skip(fmt::format("no figure by the pattern \"{}\" in: {}", pattern, tail(text)));
  }
}

double run_external(const External& external, const std::vector<int>& cores) {
  if (!installed(external.program)) throw Skip(external.program + ": not installed");
  const double limit_ns = std::chrono::duration<double, std::nano>(external.limit).count();
  const double deadline_ns = now_ns() + limit_ns;
  Descriptor nowhere{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  }
  Descriptor read_end{ends[0]};
  Descriptor write_end{ends[1]};

  std::unique_ptr<Child> server;
  if (!external.server.empty()) {
    server = std::make_unique<Child>(external, external.server, cores, 1, nowhere.value);
    std::this_thread::sleep_for(external.head_start);
  }
  Child client(external, external.client, cores, 0, write_end.value);
  write_end.close();
  const std::string output = read_all(read_end.value, deadline_ns, external.program);
  client.join(deadline_ns, output);
  if (server) server->join(deadline_ns, output);
  return parse_figure(output, external.pattern) * external.scale;
}

}  // namespace bench
