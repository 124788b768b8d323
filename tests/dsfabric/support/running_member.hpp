// SPDX-License-Identifier: MIT
// A member of a test's job while it runs: a forked process, or a node of the simulation under test.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/device_under_test.hpp"

namespace support {

/// Dies with this object. What it runs returns 0 when all went well.
class RunningMember {
 public:
  virtual ~RunningMember() = default;
  /// As SIGKILL, SIGSTOP and SIGCONT; when `stop` returns, none of its threads runs.
  virtual void kill() = 0;
  virtual void stop() = 0;
  virtual void resume() = 0;
  virtual bool ended() = 0;
  /// How, once it has: the signal that killed it, or 0; and what it returned.
  struct End {
    int signal;
    int status;
  };
  virtual End how() const = 0;
};

class ForkedProcess final : public RunningMember {
 public:
  explicit ForkedProcess(const std::function<int()>& life) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(life());
  }
  ForkedProcess(const ForkedProcess&) = delete;
  ForkedProcess& operator=(const ForkedProcess&) = delete;
  ~ForkedProcess() override {
    if (ended()) return;
    kill();
    waitpid(pid_, nullptr, 0);
  }

  void kill() override { send(SIGKILL); }
  void stop() override {
    send(SIGSTOP);
    siginfo_t stopped{};
    waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
  }
  void resume() override { send(SIGCONT); }
  bool ended() override {
    int status = 0;
    if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_.has_value();
  }
  End how() const override {
    return {WIFSIGNALED(*status_) ? WTERMSIG(*status_) : 0, WEXITSTATUS(*status_)};
  }

 private:
  void send(int signal) {
    if (!ended()) ::kill(pid_, signal);
  }

  const pid_t pid_;
  std::optional<int> status_;
};

class SimulatedNode final : public RunningMember {
 public:
  using Number = dtutils::Simulation::Node;

  /// Of a node that has not been there yet.
  static Number next() {
    static Number used = 0;
    return ++used;
  }
  /// Calls `gone` at its end, whatever brings that about.
  SimulatedNode(Number number, std::function<int()> life, std::function<void()> gone)
      : number_(number), gone_(std::move(gone)) {
    simulation_under_test().start(number, [life = std::move(life), gone = gone_, end = end_] {
      *end = End{0, life()};
      gone();
    });
  }
  SimulatedNode(const SimulatedNode&) = delete;
  SimulatedNode& operator=(const SimulatedNode&) = delete;
  ~SimulatedNode() override { kill(); }

  void kill() override {
    if (ended()) return;
    simulation_under_test().crash(number_);
    gone_();
  }
  void stop() override { simulation_under_test().stop(number_, std::chrono::hours(1)); }
  void resume() override { simulation_under_test().stop(number_, std::chrono::hours(0)); }
  bool ended() override { return end_->has_value() || simulation_under_test().crashed(number_); }
  End how() const override { return end_->value_or(End{SIGKILL, 0}); }

 private:
  const Number number_;
  const std::function<void()> gone_;
  /// Its own, too: it may outlive this object, though it never runs then.
  const std::shared_ptr<std::optional<End>> end_ = std::make_shared<std::optional<End>>();
};

}  // namespace support
