// SPDX-License-Identifier: MIT
// The launcher's poll loop.
#include "job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <span>

#include "dtutils/error.hpp"
#include "keeper.hpp"
#include "secret.hpp"

namespace run {
namespace {

std::string address_of(const Options& options) {
  if (!options.address.empty()) return options.address;
  return options.hosts.empty() ? "127.0.0.1" : outside_address();
}

std::chrono::steady_clock::duration seconds(double value) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(value));
}

}  // namespace

Job::Job(const Options& options, Keeper* keeper)
    : options_(options), keeper_(keeper), places_(place(options)), replaced_(options.processes) {
  if (options.join.empty()) {
    server_.emplace(options.processes, address_of(options), options.port, options.elastic);
    secret_ = server_->secret();
    if (!options.secret_file.empty()) write_secret(options.secret_file, secret_);
    if (keeper != nullptr) keeper->opened(*server_);
    if (options.elastic != 0) {
      write_all(STDERR_FILENO,
                fmt::format("{}: others may --join {}\n", options.name, server_->address()));
    }
  } else {
    secret_ = read_secret(options.secret_file);
  }
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGTERM, SIGCHLD}) sigaddset(&watched, signal);
  // A keeper may be born while the terminal goes, or somebody types Ctrl-C there.
  if (keeper == nullptr) {
    for (const int signal : {SIGINT, SIGHUP}) sigaddset(&watched, signal);
  }
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) throw dtutils::Error("launcher", "signalfd failed", "raise `ulimit -n`", errno);
}

Job::~Job() { close(signals_); }

int Job::run() {
  start();
  while (!finished()) step();
  if (!reason_.empty()) write_all(STDERR_FILENO, fmt::format("{}: {}\n", options_.name, reason_));
  return status_;
}

std::unique_ptr<Child> Job::make_child(std::uint32_t rank, bool newcomer) const {
  std::vector<std::string> environment = options_.environment;
  if (newcomer) {
    const std::string& job = server_ ? server_->address() : options_.join;
    std::ranges::copy(dsfabric::RendezvousServer::newcomer_environment(job),
                      std::back_inserter(environment));
  } else {
    std::ranges::copy(server_->environment(rank), std::back_inserter(environment));
  }
  if (options_.threads != 0) {
    environment.push_back(fmt::format("CARIAMA_THREADS={}", options_.threads));
  }
  if (options_.replace) environment.push_back(fmt::format("CARIAMA_PLACE={}", rank));
  return std::make_unique<Child>(rank, places_[rank], options_, environment, secret_);
}

std::vector<const Child*> Job::founders() const {
  std::vector<const Child*> all;
  for (const auto& child : children_) {
    all.push_back(replaced_[child->rank()] ? nullptr : child.get());
  }
  return all;
}

void Job::start() {
  for (std::uint32_t rank = 0; rank < options_.processes; ++rank) {
    children_.push_back(make_child(rank, !server_));
  }
  started_ = Clock::now();
  if (options_.timeout > 0) end_at_ = started_ + seconds(options_.timeout);
  if (options_.kill_rank) strike_at_ = started_ + seconds(options_.kill_after);
}

bool Job::finished() const {
  // Others may have come, and need the rendezvous until they go.
  if (options_.elastic != 0 && !ends_ && server_->members() != 0) return false;
  return std::ranges::all_of(children_, [](const auto& child) {
    return !child->running() &&
           std::ranges::none_of(child->outputs(), [](const Output& each) { return each.open(); });
  });
}

void Job::step() {
  std::vector<pollfd> watched{{signals_, POLLIN, 0}};
  if (read_input_ && !children_[0]->has_pending_input()) {
    watched.push_back({STDIN_FILENO, POLLIN, 0});
  }
  if (children_[0]->has_pending_input()) watched.push_back({children_[0]->input_fd(), POLLOUT, 0});
  for (const auto& child : children_) {
    for (const Output& output : child->outputs()) {
      if (output.open()) watched.push_back({output.fd(), POLLIN, 0});
    }
  }
  const std::size_t own = watched.size();
  if (server_) server_->watch(watched);
  const std::size_t servers = watched.size();
  if (keeper_ != nullptr) keeper_->watch(watched);
  if (poll(watched.data(), watched.size(), poll_timeout()) < 0) return;
  const auto begin = watched.begin();
  if (server_) {
    server_->handle(
        {begin + static_cast<std::ptrdiff_t>(own), begin + static_cast<std::ptrdiff_t>(servers)});
  }
  for (std::size_t i = 1; i < own; ++i) {
    if (watched[i].revents != 0 && watched[i].fd == STDIN_FILENO) forward_input();
  }
  children_[0]->flush_input();
  for (const auto& child : children_) {
    for (Output& output : child->outputs()) {
      if (output.open()) output.forward();
    }
  }
  take_signals();
  check_times();
  if (keeper_ != nullptr) keeper_->handle(std::span(watched).subspan(servers), *this);
}

int Job::poll_timeout() const {
  std::optional<Clock::time_point> next;
  if (server_) next = server_->next_deadline();
  const auto heed = [&](const std::optional<Clock::time_point>& each) {
    if (each && (!next || *each < *next)) next = each;
  };
  for (const auto& each : {end_at_, kill_at_, strike_at_}) heed(each);
  if (keeper_ != nullptr) heed(keeper_->next_deadline());
  for (const Vacancy& each : vacancies_) heed(each.due);
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void Job::forward_input() {
  std::array<char, 4096> part;
  const ssize_t got = read(STDIN_FILENO, part.data(), part.size());
  if (got <= 0) read_input_ = false;
  children_[0]->feed(std::string(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))));
}

void Job::take_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) continue;
    end(128 + static_cast<int>(info.ssi_signo),
        info.ssi_signo == SIGINT ? "ended by Ctrl-C" : "ended by a signal");
  }
  reap();
}

void Job::end(int status, const std::string& reason) {
  if (reason_.empty()) {
    status_ = status;
    reason_ = reason;
  }
  end_all();
}

void Job::reap() {
  for (const auto& child : children_) {
    if (child->reap()) note_ending(*child);
  }
}

void Job::note_ending(Child& child) {
  // Leftovers of its process group hold its output open, and would keep the launcher waiting.
  kill(-child.pid(), SIGKILL);
  const Ending& ending = *child.ending();
  // The server knows of newcomers by what they say, as of those of other launchers.
  if (server_ && !replaced_[child.rank()]) {
    server_->process_ended(child.rank(), ending.status == 0);
  }
  if (ending.status == 0 || replaces(child)) return;
  fail(child);
  // Members of an elastic job come and go.
  const bool goes_on = options_.keep_going || options_.elastic != 0 || !server_;
  if (!goes_on && !kill_at_) {
    const auto by = Clock::now() + seconds(options_.grace);
    end_at_ = end_at_ ? std::min(*end_at_, by) : by;
  }
}

void Job::fail(const Child& child) {
  if (!reason_.empty()) return;
  status_ = child.ending()->status;
  reason_ = fmt::format("rank {} {}", child.rank(), child.ending()->words);
}

bool Job::replaces(const Child& failed) {
  if (!options_.replace || ends_ ||
      newcomers_ + vacancies_.size() >= options_.elastic - options_.processes) {
    return false;
  }
  write_all(STDERR_FILENO, fmt::format("{}: rank {} {}, another process takes its place\n",
                                       options_.name, failed.rank(), failed.ending()->words));
  vacancies_.push_back({failed.rank(), Clock::now() + seconds(*options_.replace)});
  return true;
}

void Job::fill_vacancies() {
  if (ends_) return vacancies_.clear();
  if (server_->members() == 0) {
    // There is nothing to join.
    for (const Vacancy& each : vacancies_) fail(*children_[each.rank]);
    return vacancies_.clear();
  }
  const auto now = Clock::now();
  std::erase_if(vacancies_, [&](const Vacancy& vacancy) {
    if (vacancy.due > now) return false;
    std::unique_ptr<Child>& child = children_[vacancy.rank];
    // What the one before has said comes first.
    for (Output& output : child->outputs()) {
      if (output.open()) output.forward();
    }
    child = make_child(vacancy.rank, true);
    replaced_[vacancy.rank] = true;
    ++newcomers_;
    return true;
  });
}

void Job::check_times() {
  if (!vacancies_.empty()) fill_vacancies();
  const auto now = Clock::now();
  if (strike_at_ && now >= *strike_at_) {
    strike_at_.reset();
    children_[*options_.kill_rank]->kill_with(SIGKILL);
  }
  if (end_at_ && now >= *end_at_) {
    end_at_.reset();
    if (reason_.empty()) {
      status_ = 124;
      reason_ = fmt::format("the job took longer than --timeout {} s", options_.timeout);
      const auto missing = server_ ? server_->not_joined() : std::vector<std::uint32_t>();
      if (!missing.empty()) {
        reason_ += fmt::format("; these ranks never joined: {}", fmt::join(missing, ", "));
      }
    }
    end_all();
  }
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    for (const auto& child : children_) child->kill_with(SIGKILL);
  }
}

void Job::end_all() {
  ends_ = true;
  end_at_.reset();
  if (!kill_at_) kill_at_ = Clock::now() + std::chrono::seconds(2);
  for (const auto& child : children_) child->kill_with(SIGTERM);
}

}  // namespace run
