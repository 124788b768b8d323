// SPDX-License-Identifier: MIT
// Messages go to the sink whose level is wanted, by default to stderr, and nowhere if nobody asks.
#include "dtutils/log.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "dtutils/device.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

namespace {

using dtutils::LogLevel;
using support::contains;

/// Collects messages at one level, and puts everything back at its end.
class CollectedLog {
 public:
  explicit CollectedLog(LogLevel level) {
    dtutils::set_log_level(level);
    dtutils::set_log_sink([this](LogLevel of, std::string_view who, std::string_view text) {
      lines.push_back(std::string(to_string(of)) + " " + std::string(who) + ": " +
                      std::string(text));
    });
  }
  CollectedLog(const CollectedLog&) = delete;
  CollectedLog& operator=(const CollectedLog&) = delete;
  ~CollectedLog() {
    dtutils::set_log_sink({});
    dtutils::set_log_level(LogLevel::kOff);
  }

  std::vector<std::string> lines;
};

/// What this program, started anew with CARIAMA_LOG, writes to stderr while it runs one test case.
std::string stderr_of_test(const char* level, const char* test) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = fork();
  if (child == 0) {
    ::setenv("CARIAMA_LOG", level, 1);
    dup2(ends[1], STDERR_FILENO);
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    execl("/proc/self/exe", "log_test", test, nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(status == 0);
  return text;
}

}  // namespace

TEST_CASE("log_levels_include_those_before_them") {
  CollectedLog log(LogLevel::kWarn);
  CHECK(dtutils::logs(LogLevel::kError));
  CHECK(dtutils::logs(LogLevel::kWarn));
  CHECK_FALSE(dtutils::logs(LogLevel::kInfo));
  dtutils::log(LogLevel::kWarn, "test", "a warning");
  dtutils::log(LogLevel::kInfo, "test", "no warning");
  dtutils::log(LogLevel::kOff, "test", "nothing is ever logged at this level");
  CHECK(log.lines == std::vector<std::string>{"warn test: a warning"});
}

TEST_CASE("log_says_which_device_was_opened_and_why") {
  CollectedLog log(LogLevel::kInfo);
  const auto device = dtutils::open_device("shm");
  REQUIRE(log.lines.size() == 1);
  CHECK_THAT(log.lines[0], contains("info device shm: shared memory of this host"));
}

TEST_CASE("log_sink_that_throws_loses_its_message_only") {
  CollectedLog log(LogLevel::kInfo);
  dtutils::set_log_sink(
      [](LogLevel, std::string_view, std::string_view) { throw std::runtime_error("no room"); });
  dtutils::log(LogLevel::kInfo, "test", "lost");
  CHECK(log.lines.empty());
}

// The next two start this one in a process of its own.
TEST_CASE("log_of_one_opened_device", "[.]") { dtutils::open_device("shm"); }

TEST_CASE("log_is_silent_unless_asked_for") {
  CHECK(stderr_of_test("", "log_of_one_opened_device").empty());
  CHECK(stderr_of_test("off", "log_of_one_opened_device").empty());
  CHECK(stderr_of_test("warn", "log_of_one_opened_device").empty());
}

TEST_CASE("log_lines_go_to_stderr_with_host_process_and_level") {
  const std::string text = stderr_of_test("info", "log_of_one_opened_device");
  CHECK_THAT(text, contains("] cariama INFO device shm: shared memory of this host"));
  CHECK(text.front() == '[');
  CHECK(text.back() == '\n');
}
