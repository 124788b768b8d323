// SPDX-License-Identifier: MIT
// Fabric::Impl: building the parts, starting them, and leaving the job.
#include "fabric/impl.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/log.hpp"
#include "dtutils/wait.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {
namespace {

/// Most threads that may use one Transmitter at once. Every thread context has its number modulo
/// queue_pairs; but helper threads post on those of the workers that they poll for, and the failure
/// detector's thread on all.
std::uint32_t sharing_threads(const Members& members, const Config& config) noexcept {
  return ThreadRegistry::count(members.threads(), config.service_threads, config.outside_threads) +
         1;
}

/// Throws Error when the settings want an elastic job, and this is none, or cannot be one.
SharedBootstrap& require_elastic(SharedBootstrap& bootstrap, const Config& config) {
  if (config.elastic != 0 && bootstrap.elastic() == nullptr) {
    throw dtutils::Error(
        "setting elastic",
        fmt::format("the job was started by {}, and its processes are fixed", bootstrap.name()),
        "start it by `scripts/run --elastic N`; PMIx and jobs of one process cannot grow");
  }
  if (bootstrap.elastic() != nullptr && !bootstrap.relays()) {
    throw dtutils::Error("join()", "the bootstrap of this elastic job carries no letters",
                         "let it carry letters (Bootstrap::relays)");
  }
  return bootstrap;
}

/// The whole job; for a newcomer of an elastic one, which takes part in no such collectives, its
/// own workers.
Participants everybody_of(const Members& members) {
  if (members.is_founder(members.self())) return Participants(members);
  std::vector<ThreadId> own;
  for (std::uint16_t i = 0; i < members.threads(); ++i) own.push_back({members.self(), i});
  return {members, std::move(own)};
}

}  // namespace

Fabric::Impl::Impl(Fabric& fabric, const Config& settings, std::unique_ptr<Bootstrap> its_bootstrap)
    : bootstrap(std::move(its_bootstrap)),
      device(open_device(settings)),
      pd(*device),
      meeting(meet(require_elastic(bootstrap, settings), device->info(), settings)),
      members(*meeting.members),
      config(with_max_connections(with_queue_pairs(settings, members), device->info())),
      receive_queue(pd, config, members.capacity() * config.queue_pairs),
      connections(
          pd, receive_queue, config, members.self(), members.capacity(),
          sharing_threads(members, config),
          elastic() || (bootstrap.relays() && members.capacity() - 1 > config.max_connections)),
      zones(pd, meeting.placement.zones, config),
      receiver(receive_queue, zones.first().pages, config),
      board(zones.first().pieces, connections),
      threads(members.self(), members.capacity(), members.threads(), config.service_threads,
              config.outside_threads),
      failures(members.self(), members.capacity(), elastic()),
      end_notices(bootstrap, members, threads, connections, board, failures),
      membership(bootstrap, meeting, failures, end_notices),
      handshakes(bootstrap, config, members, connections, board, failures, end_notices, membership),
      own_failure(members.self(), failures, end_notices),
      messages(fabric, members, threads, connections, receiver, failures, arrivals, service_sleep,
               zones.first().pages, config.receive_limit),
      control_service(fabric, members, zones, threads, failures, messages),
      everybody(everybody_of(members)),
      collectives(everybody,
                  zones.first().pages.allocate(
                      RoundLayout(everybody.processes(), everybody.max_workers()).size()),
                  connections, failures, own_failure, messages, arrivals),
      termination(config.leave_timeout, threads, failures, own_failure, collectives),
      groups(fabric, members, zones.first().pieces, connections, failures, own_failure, messages,
             arrivals, collectives, config.start_timeout),
      call_tables(agree_on_functions(bootstrap, config)) {
  RoundBlock& block = collectives.block();
  handshakes.tell_block(block.remote(),
                        [&](ProcessId of, const dtutils::RemoteMemoryLocator& where) {
                          if (!everybody.whole_job() || !everybody.has(of)) return;
                          block.set_peer(of.value, where);
                        });
  handshakes.on_take([this] {
    if (ThreadContext* const context = threads.known()) messages.take_aside(*context);
  });
  membership.on_given_up([this](const std::string& reason) { own_failure.declare(reason); });
  handshakes.connect_all();
  messages.set_handler(MessageKind::kCall, call_handler());
  log_membership();
}

void Fabric::Impl::start() {
  threads.bind(&threads.home());
  failure_detector.emplace(config.watch_interval, device->info().kind, bootstrap, members, threads,
                           connections, failures, end_notices, handshakes, membership, pending);
  service_threads.emplace(config.service_threads, threads, receive_queue, service_sleep, messages,
                          own_failure);
}

void Fabric::Impl::leave() noexcept {
  if (own_failure.declared() || !failure_detector) return;
  handshakes.leave(kDrainTimeout);
  // What any thread has sent comes before the news that this process has left.
  dtutils::Deadline drained(kDrainTimeout);
  for (const ProcessId peer : connections.touched()) {
    if (!failures.active(peer) || !connections.ready(peer)) continue;
    // Not destroyed meanwhile.
    const HeldTransmitter held = connections.try_hold(threads.home(), peer);
    if (!held) continue;
    for (auto& each : connections.to(peer)) {
      const auto left = drained.end() - dtutils::Clock::now();
      (void)each->flush(std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0)));
    }
  }
  dtutils::Backoff backoff;
  // Who was given up is told of that first: for a process that has left nothing needs a repair.
  while (!failures.handled() && !drained.passed()) backoff.pause();
  end_notices.tell(EndNotice::kLeft, {});
  dtutils::Deadline deadline(config.leave_timeout);
  backoff.reset();
  threads.bind(&threads.home());
  if (elastic()) bootstrap.goodbye();
  while (!may_go() && !deadline.passed()) {
    bool busy = false;
    try {
      busy = messages.progress(threads.home());
    } catch (...) {
      // A handler of a service message failed; its caller learns that no answer comes.
    }
    busy ? backoff.reset() : backoff.pause();
  }
  if (!elastic()) bootstrap.goodbye();
}

bool Fabric::Impl::may_go() noexcept {
  if (elastic()) return !failures.active(members.self());
  bool gone = true;
  for (std::uint16_t i = 0; i < members.count(); ++i) {
    const ProcessId peer{i};
    if (peer == members.self() || !failures.active(peer)) continue;
    end_notices.check(peer);
    gone = gone && !failures.active(peer);
  }
  return gone;
}

Fabric::Impl::~Impl() {
  service_threads.reset();
  handshakes.close();
  failure_detector.reset();
  // A peer that has left may be gone, so that its adapter acknowledges nothing any more. Whatever
  // is still on its way there is for nobody.
  for (const ProcessId peer : connections.touched()) {
    if (connections.ready(peer) && !failures.active(peer)) connections.break_off(peer);
  }
  connections.finish(kDrainTimeout);
}

void Fabric::Impl::log_membership() const {
  using dtutils::LogLevel;
  if (!logs(LogLevel::kInfo)) return;
  const std::string who = fmt::format("process {}", members.self().value);
  const std::vector<int>& cores = meeting.placement.cores;
  log(LogLevel::kInfo, who,
      fmt::format("joined a job of {} processes on {} machines by {}; {} workers {}, {} service "
                  "threads, {} queue pairs to each process",
                  members.count(), members.machines(), bootstrap.name(), members.threads(),
                  cores.empty() ? "not pinned" : fmt::format("on cores {}", fmt::join(cores, ",")),
                  config.service_threads, config.queue_pairs));
  for (std::uint16_t i = 0; i < members.count(); ++i) {
    const ProcessInfo info = members.info({i});
    log(LogLevel::kDebug, who,
        fmt::format("process {} is pid {} at {}, machine {}, {} workers", info.id.value, info.pid,
                    info.host, info.machine.value, info.threads));
  }
}

}  // namespace dsfabric
