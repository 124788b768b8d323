// SPDX-License-Identifier: MIT
// Failures: the two steps.
#include "failure/failures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dtutils/log.hpp"

namespace dsfabric {

void Failures::declare(ProcessId process, std::string_view reason) noexcept {
  std::atomic<PeerState>& state = states_[process.value];
  {
    const std::scoped_lock lock(mutex_);
    if (state.load(std::memory_order_relaxed) != PeerState::kActive) {
      return;
    }
    failed_.push_back({process, std::string(reason)});
    // Sequentially consistent: pairs with PendingTable::claim.
    state.store(PeerState::kFailed, std::memory_order_seq_cst);
    count_.fetch_add(1, std::memory_order_release);
  }
  if (logs(dtutils::LogLevel::kWarn)) {
    log(dtutils::LogLevel::kWarn, fmt::format("process {}", self_.value),
        fmt::format("process {} failed: {}", process.value, reason));
  }
  wake_.wake();
}

void Failures::mark_left(ProcessId process) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    PeerState active = PeerState::kActive;
    if (!states_[process.value].compare_exchange_strong(active, PeerState::kLeft,
                                                        std::memory_order_seq_cst)) {
      return;
    }
    left_.push_back(process);
  }
  if (logs(dtutils::LogLevel::kDebug)) {
    log(dtutils::LogLevel::kDebug, fmt::format("process {}", self_.value),
        fmt::format("process {} left the job", process.value));
  }
  wake_.wake();
}

void Failures::agree(JobEvent::Kind kind, ProcessId process, std::string_view reason) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    news_.push_back({kind, process, std::string(reason)});
  }
  wake_.wake();
}

void Failures::tell_next(std::unique_lock<std::mutex>& lock) {
  const News news = news_[told_++];
  // A copy: an upcall may ask for reasons, and more upcalls may be added meanwhile.
  const std::vector<Taken> upcalls = upcalls_[static_cast<std::size_t>(news.kind)];
  lock.unlock();
  for (const Taken& each : upcalls) each.upcall(news.process, news.reason);
  lock.lock();
}

bool Failures::tell_watcher(std::unique_lock<std::mutex>& lock) {
  for (Watcher& watcher : watchers_) {
    if (watcher.told == told_) continue;
    const News news = news_[watcher.told++];
    lock.unlock();
    watcher.change(news.kind, news.process, news.reason);
    lock.lock();
    return true;
  }
  return false;
}

void Failures::on_change(Change change) {
  {
    const std::scoped_lock lock(mutex_);
    watchers_.push_back({std::move(change)});
  }
  wake_.wake();
}

void Failures::handle(PendingTable& pending,
                      const std::function<void(ProcessId, const std::string& reason)>& part,
                      const std::function<void(ProcessId)>& gone) noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (left_handled_ < left_.size()) {
      const ProcessId process = left_[left_handled_++];
      lock.unlock();
      pending.fail_all(process);
      lock.lock();
    } else if (handled_ < failed_.size()) {
      const Failed failed = failed_[handled_];
      lock.unlock();
      if (failed.process != self_) part(failed.process, failed.reason);
      // Of this process itself: a worker that has ended answers no more.
      pending.fail_all(failed.process);
      lock.lock();
      ++handled_;
      if (elastic_ || failed.process == self_) continue;
      news_.push_back({JobEvent::Kind::kFailed, failed.process, failed.reason});
      tell_next(lock);
    } else if (told_ < news_.size()) {
      const News& next = news_[told_];
      if (elastic_ && next.kind != JobEvent::Kind::kJoined) gone(next.process);
      tell_next(lock);
    } else if (!tell_watcher(lock)) {
      return;
    }
  }
}

bool Failures::handled() const {
  const std::scoped_lock lock(mutex_);
  return handled_ == failed_.size();
}

std::optional<ProcessId> Failures::first_of(const std::function<bool(ProcessId)>& wanted) const {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(failed_, wanted, &Failed::process);
  return found == failed_.end() ? std::nullopt : std::optional(found->process);
}

std::string Failures::reason(ProcessId process) const {
  const std::scoped_lock lock(mutex_);
  for (const Failed& failed : failed_) {
    if (failed.process == process) {
      return failed.reason;
    }
  }
  return {};
}

UpcallId Failures::on(JobEvent::Kind kind, Upcall upcall) {
  std::vector<News> before;
  UpcallId id;
  {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < told_; ++i) {
      if (news_[i].kind == kind) before.push_back(news_[i]);
    }
    id.value = ++taken_;
    upcalls_[static_cast<std::size_t>(kind)].push_back({id, upcall});
  }
  for (const News& news : before) upcall(news.process, news.reason);
  return id;
}

UpcallId Failures::on_watch(std::function<void()> look) {
  const std::scoped_lock lock(mutex_);
  const UpcallId id{++taken_};
  looks_.push_back({id, std::move(look)});
  return id;
}

void Failures::watch() noexcept {
  std::unique_lock lock(mutex_);
  if (looks_.empty()) return;
  // A copy: they declare failures, and more may be added or removed meanwhile.
  const std::vector<Look> looks = looks_;
  lock.unlock();
  for (const Look& each : looks) each.look();
}

void Failures::remove(UpcallId upcall) noexcept {
  // What it holds is freed without the lock: it may end objects that ask for reasons.
  Upcall removed;
  std::function<void()> removed_look;
  const std::scoped_lock lock(mutex_);
  if (const auto found = std::ranges::find(looks_, upcall, &Look::id); found != looks_.end()) {
    removed_look = std::move(found->look);
    looks_.erase(found);
    return;
  }
  for (std::vector<Taken>& each : upcalls_) {
    const auto found = std::ranges::find(each, upcall, &Taken::id);
    if (found == each.end()) continue;
    removed = std::move(found->upcall);
    each.erase(found);
    return;
  }
}

}  // namespace dsfabric
