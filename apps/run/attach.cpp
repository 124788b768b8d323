// SPDX-License-Identifier: MIT
// Listing, showing, following and ending detached jobs.
#include "attach.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ask.hpp"
#include "dtutils/error.hpp"
#include "job_directory.hpp"
#include "output.hpp"

namespace run {
namespace {

using Json = nlohmann::ordered_json;

std::string program_of(const Json& job) {
  return fmt::format("{}", fmt::join(job["program"].get<std::vector<std::string>>(), " "));
}

std::size_t active_of(const Json& job) {
  return static_cast<std::size_t>(std::ranges::count_if(
      job["members"], [](const Json& each) { return each["state"] == "active"; }));
}

void print(const std::string& text) { write_all(STDOUT_FILENO, text); }

/// What others say is shown without what a terminal would act on.
std::string plain(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 32 || c == 127; }, '?');
  return text;
}

int list(const JobDirectory& directory, const Options& options) {
  Json jobs = Json::array();
  for (const std::string& name : directory.names()) {
    try {
      jobs.push_back(ask(directory, name, "members"));
    } catch (const dtutils::Error& error) {
      write_all(STDERR_FILENO, fmt::format("{}: {}\n", options.name, error.what()));
    }
  }
  if (options.json) {
    print(jobs.dump(2) + "\n");
  } else if (jobs.empty()) {
    write_all(STDERR_FILENO, fmt::format("{}: no detached job of yours runs\n", options.name));
  } else {
    print(fmt::format("{:16} {:>7} {:>7}  {:20}  {}\n", "job", "keeper", "active", "began",
                      "program"));
  }
  for (const Json& job : jobs) {
    if (options.json) break;
    print(fmt::format("{:16} {:>7} {:>7}  {:20}  {}\n", job["name"].get<std::string>(),
                      job["keeper"].get<std::int64_t>(), active_of(job),
                      job["began"].get<std::string>(), plain(program_of(job))));
  }
  return 0;
}

int show(const JobDirectory& directory, const Options& options) {
  const Json job = ask(directory, *options.attach, "members");
  if (options.json) {
    print(job.dump(2) + "\n");
    return 0;
  }
  print(fmt::format(
      "job {} at {}, since {}, kept by process {}\noutput in {}\n{} active; {} of {} numbers "
      "taken\n\n",
      *options.attach, job["address"].get<std::string>(), job["began"].get<std::string>(),
      job["keeper"].get<std::int64_t>(), job["log"].get<std::string>(), active_of(job),
      job["members"].size(), job["capacity"].get<std::uint32_t>()));
  print(fmt::format("{:>7}  {:16} {:>8}  {:8}  {:8}  {:20}\n", "process", "host", "pid", "came as",
                    "state", "since"));
  for (const Json& each : job["members"]) {
    const bool known = each["pid"] != 0;
    const std::string host = plain(each["host"].get<std::string>());
    print(fmt::format(
        "{:>7}  {:16} {:>8}  {:8}  {:8}  {:20} {}\n", each["process"].get<std::uint32_t>(),
        known ? host : "-", known ? std::to_string(each["pid"].get<std::uint32_t>()) : "-",
        each["founder"] == true ? "founder" : "newcomer", each["state"].get<std::string>(),
        each["since"].get<std::string>(), plain(each["reason"].get<std::string>())));
  }
  return 0;
}

/// What has been written since the last look.
void copy_new(int log) {
  std::array<char, 16384> part;
  for (ssize_t got; (got = read(log, part.data(), part.size())) > 0;) {
    print(std::string(part.data(), static_cast<std::size_t>(got)));
  }
}

int follow(const JobDirectory& directory, const std::string& name) {
  Question end(directory, name, "wait");
  const auto path = ask(directory, name, "members")["log"].get<std::string>();
  const int log = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (log < 0) throw dtutils::Error(path, "cannot be read", "ask without --follow", errno);
  do {
    copy_new(log);
  } while (!end.is_answered(std::chrono::milliseconds(100)));
  copy_new(log);
  close(log);
  return end.answer(std::chrono::seconds(5))["status"].get<int>();
}

int end(const JobDirectory& directory, const Options& options) {
  // SIGTERM, and two seconds later SIGKILL.
  const Json ending = Question(directory, *options.attach, "end").answer(std::chrono::seconds(15));
  if (options.json) {
    print(ending.dump(2) + "\n");
    return 0;
  }
  for (const Json& each : ending["processes"]) {
    print(fmt::format("process {} {}\n", each["process"].get<std::uint32_t>(),
                      plain(each["ended"].get<std::string>())));
  }
  print(fmt::format("the job {} has ended: {}\n", *options.attach,
                    plain(ending["reason"].get<std::string>())));
  return 0;
}

}  // namespace

int attach(const Options& options) {
  const JobDirectory directory;
  if (options.attach->empty()) return list(directory, options);
  if (options.end) return end(directory, options);
  if (options.follow) return follow(directory, *options.attach);
  return show(directory, options);
}

}  // namespace run
