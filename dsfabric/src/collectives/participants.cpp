// SPDX-License-Identifier: MIT
// Participants: ranks, indices and slots.
#include "collectives/participants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

void require_members(const Members& members, const std::vector<ThreadId>& workers) {
  const char* const advice =
      "name workers of the job (Fabric::thread_of_rank, Fabric::threads_on), each once";
  std::set<ThreadId> seen;
  for (const ThreadId worker : workers) {
    if (!members.exists(worker)) {
      throw dtutils::Error("making a group", fmt::format("thread {} is no worker", worker), advice);
    }
    if (!seen.insert(worker).second) {
      throw dtutils::Error("making a group", fmt::format("thread {} is named twice", worker),
                           advice);
    }
  }
}

}  // namespace

Participants::Participants(const Members& members)
    : members_(members),
      self_(members.self().value),
      total_(members.total_threads()),
      max_workers_(members.max_threads()) {
  processes_.reserve(members.founders());
  for (std::uint16_t i = 0; i < members.founders(); ++i) {
    processes_.push_back({{i}, members.threads({i}), members.rank_of({{i}, 0})});
  }
}

Participants::Participants(const Members& members, std::vector<ThreadId> workers)
    : members_(members),
      total_(static_cast<std::uint32_t>(workers.size())),
      workers_(std::move(workers)) {
  require_members(members, workers_);
  for (const ThreadId worker : workers_) {
    auto process = std::ranges::find(processes_, worker.process, &Process::id);
    if (process == processes_.end()) process = processes_.insert(process, {worker.process});
    ++process->workers;
  }
  std::uint32_t first = 0;
  for (Process& process : processes_) {
    process.first = std::exchange(first, first + process.workers);
    max_workers_ = std::max(max_workers_, process.workers);
  }
  const auto own = std::ranges::find(processes_, members.self(), &Process::id);
  if (own == processes_.end()) {
    throw dtutils::Error("making a group",
                         fmt::format("no worker of process {} is in it", members.self()),
                         "make a group on its own workers, and on them only");
  }
  self_ = static_cast<std::uint32_t>(own - processes_.begin());
  slots_.assign(members.threads(), own->workers);
  for (const Process& process : processes_) {
    for (std::uint32_t rank = 0; rank < total_; ++rank) {
      if (workers_[rank].process != process.id) continue;
      const auto slot = static_cast<std::uint32_t>(ranks_.size()) - process.first;
      if (process.id == members.self()) slots_[workers_[rank].index] = slot;
      ranks_.push_back(rank);
    }
  }
}

void Participants::throw_not_whole_job(std::string_view what) const {
  throw dtutils::Error(
      what,
      fmt::format("it is for the processes that started the job, and process {} has come later",
                  members_.self().value),
      "make a Group of the workers that shall take part");
}

bool Participants::has(ProcessId process) const noexcept {
  if (whole_job()) return members_.is_founder(process);
  return std::ranges::find(processes_, process, &Process::id) != processes_.end();
}

bool Participants::has_whole_processes() const noexcept {
  return std::ranges::all_of(processes_, [&](const Process& process) {
    return process.workers == members_.threads(process.id);
  });
}

std::uint32_t Participants::rank_of(ThreadId worker) const noexcept {
  if (!whole_job()) {
    return static_cast<std::uint32_t>(std::ranges::find(workers_, worker) - workers_.begin());
  }
  return members_.exists(worker) && has(worker.process) ? members_.rank_of(worker) : total_;
}

}  // namespace dsfabric
