// SPDX-License-Identifier: MIT
// Fabric: the user's face of Core, and the life of the workers.
#include "dsfabric/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "calls/call_tables.hpp"
#include "collectives.hpp"
#include "control_service.hpp"
#include "core.hpp"
#include "dsfabric/handler_scope.hpp"
#include "dsfabric/send_channel.hpp"
#include "dsfabric/termination.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/error.hpp"
#include "failure_detector.hpp"
#include "service_threads.hpp"

namespace dsfabric {

Fabric::Fabric(std::unique_ptr<Core> core) : core_(std::move(core)) {
  install_calls(*this);  // before start: peers may call as soon as they have started
  core_->start(*this);
}

Fabric::~Fabric() { core_->leave(); }

ProcessId Fabric::process() const noexcept { return core_->self(); }
std::uint32_t Fabric::processes() const noexcept { return core_->processes(); }
std::uint32_t Fabric::machines() const noexcept { return core_->machines(); }
const ProcessInfo& Fabric::info(ProcessId process) const noexcept {
  return core_->peer(process).info;
}
std::uint32_t Fabric::total_threads() const noexcept { return core_->total_threads(); }

std::uint32_t Fabric::rank_of(ThreadId thread) const noexcept {
  return core_->peer(thread.process).first_rank + thread.index;
}

ThreadId Fabric::thread_of_rank(std::uint32_t rank) const noexcept {
  const auto& peers = core_->peers();
  const auto after = std::upper_bound(
      peers.begin(), peers.end(), rank,
      [](std::uint32_t wanted, const Peer& peer) { return wanted < peer.first_rank; });
  const Peer& peer = *std::prev(after);
  return {peer.info.id, static_cast<std::uint16_t>(rank - peer.first_rank)};
}

bool Fabric::exists(ThreadId thread) const noexcept {
  return thread.process.value < processes() && thread.index < info(thread.process).threads;
}

dtutils::NumaZone Fabric::zone_of(ThreadId thread) const noexcept {
  return core_->peer(thread.process).worker_zones[thread.index];
}

std::vector<ThreadId> Fabric::threads_on(MachineId machine) const {
  std::vector<ThreadId> threads;
  for (const Peer& peer : core_->peers()) {
    for (std::uint16_t i = 0; peer.info.machine == machine && i < peer.info.threads; ++i) {
      threads.push_back({peer.info.id, i});
    }
  }
  return threads;
}

std::vector<ThreadId> Fabric::threads_in(MachineId machine, dtutils::NumaZone zone) const {
  std::vector<ThreadId> threads = threads_on(machine);
  std::erase_if(threads, [&](ThreadId thread) { return zone_of(thread) != zone; });
  return threads;
}

const Config& Fabric::config() const noexcept { return core_->config(); }
const dtutils::DeviceInfo& Fabric::device() const noexcept { return core_->device().info(); }
std::string Fabric::launched_by() const { return core_->bootstrap().name(); }

void Fabric::run(const std::function<void(Thread&)>& work) {
  Collectives& collectives = core_->collectives();
  std::mutex mutex;
  std::exception_ptr first;
  // Before the others are told, whose exceptions follow from this one.
  const auto keep_first = [&](std::exception_ptr thrown) {
    const std::scoped_lock lock(mutex);
    first = first ? first : std::move(thrown);
  };
  const auto worker = [&](std::uint32_t index) {
    Thread self(*this, core_->thread_registry().worker(index));
    try {
      const std::vector<int>& cores = core_->placement().cores;
      if (!cores.empty()) {
        dtutils::pin_thread(cores[index]);
      }
      core_->thread_starts().run(self);
      ThreadContext& context = core_->thread_registry().worker(index);
      collectives.quiet_barrier(context, Collective::kRunBegins);
      context.working = true;
      work(self);
      core_->termination().drain(self, context);
      collectives.quiet_barrier(context, Collective::kRunEnds);
    } catch (const std::exception& error) {
      keep_first(std::current_exception());
      collectives.abort(std::string("a worker threw: ") + error.what());
    } catch (...) {
      keep_first(std::current_exception());
      collectives.abort("a worker threw something other than a std::exception");
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < info(process()).threads; ++i) {
    threads.emplace_back(worker, i);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (first) {
    std::rethrow_exception(first);
  }
  if (collectives.aborted()) {
    throw PeerFailed(process(), "run()", collectives.abort_reason());
  }
  if (const std::uint64_t lost = core_->termination().lost(); lost != 0) {
    throw dtutils::Error(
        "run()",
        fmt::format("{} calls of the job were not executed within {} ms after its workers had "
                    "ended",
                    lost, config().leave_timeout.count()),
        "look for fibers whose wait never ends and for threads that go on calling, or raise the "
        "setting leave_timeout");
  }
}

void wait_for_termination(Thread& self) {
  Fabric& fabric = self.fabric();
  detail::require_program(fabric, "wait_for_termination()");
  fabric.core().termination().wait(self, fabric.core().thread_registry().mine());
}

Thread* Fabric::current_thread() noexcept {
  const ThreadContext* const context = core_->thread_registry().known();
  return context != nullptr ? context->worker : nullptr;
}

std::uint32_t Fabric::max_message() const noexcept {
  return static_cast<std::uint32_t>(core_->receiver().buffer_size() - sizeof(MessageHeader));
}

void Fabric::set_message_handler(MessageKind kind, MessageHandler handler) {
  core_->set_message_handler(kind, handler);
}

bool Fabric::progress() { return core_->progress(core_->thread_registry().mine()); }

dtutils::Transmitter& Fabric::transmitter(ProcessId to) {
  return core_->transmitter(core_->thread_registry().mine(), to);
}

dtutils::Transmitter& Fabric::transmitter_of(std::uint32_t worker, ProcessId to) noexcept {
  return core_->transmitter(core_->thread_registry().worker(worker), to);
}

void Fabric::make_room(dtutils::Transmitter& transmitter) {
  core_->make_room(core_->thread_registry().mine(), transmitter);
}

dtutils::ProtectionDomain& Fabric::protection_domain() noexcept {
  return core_->protection_domain();
}
dtutils::RDMAAllocator& Fabric::allocator(dtutils::NumaZone zone) noexcept {
  return core_->memory(zone).pages;
}
dtutils::RDMAAllocator& Fabric::allocator() noexcept {
  return allocator(core_->placement().zones.front());
}
dtutils::GeneralAllocator& Fabric::general_allocator(dtutils::NumaZone zone) noexcept {
  return core_->memory(zone).pieces;
}
dtutils::GeneralAllocator& Fabric::general_allocator() noexcept {
  return general_allocator(core_->placement().zones.front());
}

RemoteMemory Fabric::allocate_remote(ProcessId owner, std::size_t bytes,
                                     std::optional<dtutils::NumaZone> zone) {
  return core_->control_service().allocate(owner, bytes, zone);
}
RemoteMemory Fabric::allocate_near(ThreadId thread, std::size_t bytes) {
  return allocate_remote(thread.process, bytes, zone_of(thread));
}

void Fabric::publish(std::string_view name, std::span<const std::byte> value) {
  core_->control_service().publish(name, value);
}
std::optional<std::vector<std::byte>> Fabric::lookup(std::string_view name) {
  return core_->control_service().lookup(name);
}

PeerState Fabric::state(ProcessId process) const noexcept {
  return core_->peer(process).state.load(std::memory_order_acquire);
}
std::uint32_t Fabric::failures() const noexcept { return core_->failures().count(); }
std::string Fabric::failure_reason(ProcessId process) const {
  return core_->failures().reason(process);
}
void Fabric::on_failure(std::function<void(ProcessId, const std::string& reason)> upcall) {
  core_->failures().on_failure(std::move(upcall));
}
void Fabric::fail(ProcessId process, std::string_view reason) noexcept {
  core_->failures().declare(process, reason);
}

void Fabric::on_exception(std::function<void(const CallContext&, std::exception_ptr)> upcall) {
  core_->exceptions().on_exception(std::move(upcall));
}
void Fabric::report_exception(const CallContext& call, std::exception_ptr thrown) {
  core_->exceptions().report(call, std::move(thrown));
}

const FunctionTable& Fabric::functions() const noexcept { return core_->call_tables().mine(); }
std::uint64_t Fabric::calls_sent() const noexcept {
  return core_->thread_registry().sum(&ThreadContext::calls_sent);
}
std::uint64_t Fabric::calls_run() const noexcept {
  return core_->thread_registry().sum(&ThreadContext::calls_run);
}

std::vector<std::vector<std::byte>> Fabric::exchange(std::span<const std::byte> mine) {
  const std::scoped_lock lock(core_->bootstrap_mutex());
  return core_->bootstrap().all_gather(mine, core_->config().start_timeout);
}

std::shared_ptr<void> Fabric::attachment(
    const void* key, const std::function<std::shared_ptr<void>(Fabric&)>& make) {
  return core_->attachments().find_or_make(key, [&] { return make(*this); });
}

void Fabric::add_call_ledger(CallLedger& ledger) { core_->termination().add(ledger); }

void Fabric::at_thread_start(std::function<void(Thread&)> start) {
  core_->thread_starts().add(std::move(start));
}

}  // namespace dsfabric
