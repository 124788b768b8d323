// SPDX-License-Identifier: MIT
// A newcomer: it reads the events of the job up to the one of its own joining.
#include "mesh/newcomer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bootstrap/own_host_name.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "mesh/introduction.hpp"

namespace dsfabric {
namespace {

/// The events before this process has joined, one after the other.
class Past {
 public:
  Past(ElasticJob& job, std::chrono::milliseconds limit) : job_(job), deadline_(limit) {}

  JobEvent next() {
    for (dtutils::Backoff backoff;; backoff.pause()) {
      if (auto event = job_.next_event()) {
        if (event->process < job_.capacity()) return std::move(*event);
        throw dtutils::Error("join()", "the launcher of the job has ended", "start the job again");
      }
      if (deadline_.passed()) {
        throw dtutils::Error("join()", "the launcher did not say in time who else is in the job",
                             "check that it still runs, or raise the setting start_timeout");
      }
    }
  }

 private:
  ElasticJob& job_;
  dtutils::Deadline deadline_;
};

}  // namespace

Meeting meet_as_newcomer(SharedBootstrap& bootstrap, const dtutils::DeviceInfo& device,
                         const Config& config) {
  ElasticJob& job = *bootstrap.elastic();
  Past past(job, config.start_timeout);
  Meeting meeting;
  std::vector<std::optional<Introduction>> founders(bootstrap.size());
  for (std::size_t known = 0; known < founders.size();) {
    JobEvent event = past.next();
    if (event.kind != JobEvent::Kind::kJoined) {
      meeting.past.push_back(std::move(event));
      continue;
    }
    founders.at(event.process).emplace(event.bytes);
    ++known;
  }
  std::vector<Member> all;
  for (std::uint32_t rank = 0; rank < founders.size(); ++rank) {
    Introduction& founder = *founders[rank];
    require_equal(static_cast<std::uint32_t>(device.kind), founder.device, rank,
                  "kind of device (1: verbs, 2: shm)");
    require_equal(config.receive_size, founder.receive_size, rank, "setting receive_size");
    require_equal(config.queue_pairs, founder.queue_pairs, rank, "setting queue_pairs");
    require_equal(config.max_connections, founder.max_connections, rank, "setting max_connections");
    const auto next = static_cast<std::uint16_t>(meeting.machines.size());
    founder.member.site.machine =
        meeting.machines.try_emplace(founder.host, MachineId{next}).first->second;
    all.push_back(std::move(founder.member));
  }
  const ProcessId self{static_cast<std::uint16_t>(bootstrap.rank())};
  meeting.members = std::make_unique<Members>(
      self, std::move(all), static_cast<std::uint32_t>(meeting.machines.size()), job.capacity());

  Config unpinned = config;
  unpinned.pin = false;
  const std::vector<PlacedCore> cores = allowed_cores(config);
  if (unpinned.threads == 0) {
    unpinned.threads =
        std::clamp(static_cast<std::uint32_t>(cores.size()), 1u, meeting.members->max_threads());
  }
  meeting.placement = place_workers(unpinned, cores, 0, 1);
  const auto workers = static_cast<std::uint32_t>(meeting.placement.worker_zones.size());
  if (workers > meeting.members->max_threads()) {
    throw dtutils::Error(
        "join()",
        fmt::format("this process has {} workers, and those that started the job have at most {}",
                    workers, meeting.members->max_threads()),
        "set threads (CARIAMA_THREADS) to no more than that");
  }
  Member mine;
  mine.pid = static_cast<std::uint32_t>(getpid());
  mine.site.host = rendezvous::own_host_name();
  mine.site.service_threads = config.service_threads;
  mine.site.worker_zones = meeting.placement.worker_zones;
  mine.site.zones = meeting.placement.zones;
  job.introduce(Introduction(device, config, std::move(mine)).bytes().bytes());
  while (meeting.members->count() <= self.value || meeting.members->threads() == 0) {
    JobEvent event = past.next();
    if (event.kind == JobEvent::Kind::kJoined) {
      meeting.add({static_cast<std::uint16_t>(event.process)}, event.bytes);
    } else {
      meeting.past.push_back(std::move(event));
    }
  }
  return meeting;
}

}  // namespace dsfabric
