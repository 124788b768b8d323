// SPDX-License-Identifier: MIT
// Core: how the processes of a job meet and connect.
#include "core.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "bytes.hpp"
#include "collectives.hpp"
#include "control_service.hpp"
#include "dtutils/error.hpp"
#include "dtutils/log.hpp"
#include "failure_detector.hpp"
#include "limits.hpp"
#include "service_threads.hpp"

namespace dsfabric {
namespace {

std::string host_name() {
  char name[256] = "unknown host";
  gethostname(name, sizeof name - 1);
  return name;
}

dtutils::RDMAAllocatorOptions allocator_options(const Config& config) {
  dtutils::RDMAAllocatorOptions options;
  options.superpage = config.superpage;
  options.limit = config.memory_limit;
  options.limit_name = "the setting memory_limit (CARIAMA_MEMORY_LIMIT)";
  return options;
}

void require_equal(std::uint64_t mine, std::uint64_t theirs, std::size_t rank,
                   std::string_view what) {
  if (mine != theirs) {
    throw dtutils::Error(fmt::format("process {}", rank),
                         fmt::format("its {} is {}, but here it is {}", what, theirs, mine),
                         "start all processes with the same settings, from the same build");
  }
}

}  // namespace

ZoneMemory::ZoneMemory(dtutils::ProtectionDomain& pd, dtutils::NumaZone zone, const Config& config)
    : pages(pd, zone, allocator_options(config)), pieces(pages) {}

Core::Core(const Config& config, std::unique_ptr<Bootstrap> bootstrap)
    : config_(config),
      bootstrap_(std::move(bootstrap)),
      self_{static_cast<std::uint16_t>(bootstrap_->rank())},
      peers_(bootstrap_->size()) {
  open_device();
  meet();
  make_memory();
  make_connections();
  connect();
  log_membership();
  failures_ = std::make_unique<Failures>(self_, peers_);
  control_service_ = std::make_unique<ControlService>(*this);
  collectives_ = std::make_unique<Collectives>(*this);
}

void Core::open_device() {
  dtutils::DeviceOptions options;
  if (config_.port != 0) {
    options.port = static_cast<std::uint8_t>(config_.port);
  }
  if (config_.gid_index >= 0) {
    options.gid_index = config_.gid_index;
  }
  device_ = dtutils::open_device(config_.device, options);
  pd_ = std::make_unique<dtutils::ProtectionDomain>(*device_);
}

void Core::meet() {
  // First who shares a machine with whom, then what each makes of its share.
  const std::vector<PlacedCore> cores = allowed_cores(config_);
  std::uint64_t cores_hash = 0;
  for (const PlacedCore& core : cores) {
    cores_hash = cores_hash * 31 + static_cast<std::uint64_t>(core.core) + 1;
  }
  ByteWriter hello;
  hello.value(kProtocolVersion);
  hello.value(device_->info().host);
  hello.value(cores_hash);
  hello.value(static_cast<std::uint32_t>(device_->info().kind));
  hello.value(std::uint64_t{config_.receive_size});
  hello.value(config_.queue_pairs);
  hello.value(static_cast<std::uint32_t>(getpid()));
  hello.text(host_name());

  std::map<std::uint64_t, MachineId> machines;
  std::uint32_t local_rank = 0;
  std::uint32_t sharing = 0;
  const auto hellos = bootstrap_->all_gather(hello.bytes(), config_.start_timeout);
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    ByteReader reader(hellos[rank]);
    require_equal(kProtocolVersion, reader.value<std::uint32_t>(), rank, "protocol version");
    const auto host = reader.value<std::uint64_t>();
    const auto their_cores = reader.value<std::uint64_t>();
    require_equal(static_cast<std::uint32_t>(device_->info().kind), reader.value<std::uint32_t>(),
                  rank, "kind of device (1: verbs, 2: shm)");
    require_equal(config_.receive_size, reader.value<std::uint64_t>(), rank,
                  "setting receive_size");
    require_equal(config_.queue_pairs, reader.value<std::uint32_t>(), rank, "setting queue_pairs");
    ProcessInfo& info = peers_[rank].info;
    info.id = {static_cast<std::uint16_t>(rank)};
    info.machine =
        machines.try_emplace(host, MachineId{static_cast<std::uint16_t>(machines.size())})
            .first->second;
    info.pid = reader.value<std::uint32_t>();
    info.host = reader.text();
    if (host == device_->info().host && their_cores == cores_hash) {
      ++sharing;
      local_rank += rank < self_.value;
    }
  }
  machines_ = static_cast<std::uint32_t>(machines.size());

  placement_ = place_workers(config_, cores, local_rank, sharing);
  ByteWriter share;
  share.value(config_.service_threads);
  share.list(placement_.worker_zones);
  share.list(placement_.zones);
  const auto shares = bootstrap_->all_gather(share.bytes(), config_.start_timeout);
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    ByteReader reader(shares[rank]);
    Peer& peer = peers_[rank];
    peer.info.service_threads = reader.value<std::uint32_t>();
    peer.worker_zones = reader.list<dtutils::NumaZone>();
    peer.info.zones = reader.list<dtutils::NumaZone>();
    peer.info.threads = static_cast<std::uint32_t>(peer.worker_zones.size());
    peer.first_rank = total_threads_;
    total_threads_ += peer.info.threads;
    max_threads_ = std::max(max_threads_, peer.info.threads);
  }
  // Two workers that share one wait for each other, and for its lines in the cache. More than a few
  // cost a network adapter its cache of connections.
  if (config_.queue_pairs == 0) config_.queue_pairs = std::min(max_threads_, kMaxQueuePairs);
}

void Core::make_memory() {
  for (const dtutils::NumaZone zone : placement_.zones) {
    zones_.push_back(std::make_unique<ZoneMemory>(*pd_, zone, config_));
  }
  thread_registry_ = std::make_unique<ThreadRegistry>(
      self_, peers_[self_.value].info.threads, config_.service_threads, config_.outside_threads);
  receiver_ = std::make_unique<Receiver>(*pd_, zones_.front()->pages, config_,
                                         processes() * config_.queue_pairs);
  const ControlLayout layout(processes(), max_threads_);
  dtutils::RDMAMemory block = zones_.front()->pages.allocate(ControlBlock::needed(layout));
  std::memset(block.data(), 0, ControlBlock::needed(layout));
  control_ = std::make_unique<ControlBlock>(std::move(block), layout);
}

void Core::make_connections() {
  // Every thread context has its number modulo queue_pairs. But helper threads post on those of the
  // workers that they poll for, and the failure detector's thread on all.
  sharing_threads_ = thread_registry_->count() + 1;
  dtutils::TransmitterOptions options = dtutils::TransmitterOptions::for_threads(sharing_threads_);
  if (config_.send_depth != 0) {
    options.queue_pair.send_depth = config_.send_depth;
  }
  options.queue_pair.shared_receive_queue = &receiver_->queue();
  options.queue_pair.max_inline = kInlineWrite;
  for (Peer& peer : peers_) {
    for (std::uint32_t i = 0; i < config_.queue_pairs; ++i) {
      peer.transmitters.push_back(
          std::make_unique<dtutils::Transmitter>(*pd_, receiver_->completions(), options));
    }
  }
}

void Core::connect() {
  ByteWriter mine;
  mine.value(control_->remote());
  std::vector<dtutils::Endpoint> endpoints;
  for (const Peer& peer : peers_) {
    for (const auto& transmitter : peer.transmitters) {
      endpoints.push_back(transmitter->endpoint());
    }
  }
  mine.list(endpoints);
  const auto all = bootstrap_->all_gather(mine.bytes(), config_.start_timeout);
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    ByteReader reader(all[rank]);
    Peer& peer = peers_[rank];
    peer.control = reader.value<dtutils::RemoteMemoryLocator>();
    endpoints = reader.list<dtutils::Endpoint>();
    for (std::uint32_t i = 0; i < config_.queue_pairs; ++i) {
      peer.transmitters[i]->connect(endpoints.at(self_.value * config_.queue_pairs + i));
    }
  }
  bootstrap_->barrier(config_.start_timeout);
}

void Core::log_membership() const {
  using dtutils::LogLevel;
  if (!logs(LogLevel::kInfo)) return;
  const std::string who = fmt::format("process {}", self_.value);
  const std::string cores = placement_.cores.empty()
                                ? "not pinned"
                                : fmt::format("on cores {}", fmt::join(placement_.cores, ","));
  log(LogLevel::kInfo, who,
      fmt::format("joined a job of {} processes on {} machines by {}; {} workers {}, {} service "
                  "threads, {} queue pairs to each process",
                  processes(), machines_, bootstrap_->name(), peers_[self_.value].info.threads,
                  cores, config_.service_threads, config_.queue_pairs));
  for (const Peer& peer : peers_) {
    log(LogLevel::kDebug, who,
        fmt::format("connected to process {}, pid {} at {}, machine {}, {} workers",
                    peer.info.id.value, peer.info.pid, peer.info.host, peer.info.machine.value,
                    peer.info.threads));
  }
}

void Core::start(Fabric& fabric) {
  fabric_ = &fabric;
  thread_registry_->bind(&thread_registry_->home());
  control_service_->install();
  failure_detector_ = std::make_unique<FailureDetector>(*this);
  service_threads_ = std::make_unique<ServiceThreads>(*this, config_.service_threads);
}

ZoneMemory& Core::memory(dtutils::NumaZone zone) noexcept {
  for (const auto& memory : zones_) {
    if (memory->pages.zone() == zone) {
      return *memory;
    }
  }
  return *zones_.front();
}

void Core::set_message_handler(MessageKind kind, MessageHandler handler) {
  handlers_.at(static_cast<std::size_t>(kind)) = handler;
}

bool Core::write_control(ThreadContext& context, ProcessId to, std::size_t offset,
                         std::size_t source, std::size_t length) noexcept {
  dtutils::Transmitter& out = transmitter(context, to);
  const unsigned flags =
      length <= out.queue_pair().max_inline() ? dtutils::kInlined : dtutils::kUnsignaled;
  return out.write(control_->source_buffer(source, static_cast<std::uint32_t>(length)),
                   peers_[to.value].control.part(offset, length), flags);
}

}  // namespace dsfabric
