// SPDX-License-Identifier: MIT
// Fabric: what its parts do, in one place.
#include "dsfabric/fabric.hpp"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <utility>

#include "dsfabric/detail/inside.hpp"
#include "dsfabric/own_connections.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "fabric/impl.hpp"

namespace dsfabric {
namespace {

void require_process(const Fabric& fabric, ProcessId process, const char* what) {
  if (process.value < fabric.capacity()) return;
  throw dtutils::Error(what, fmt::format("the job has no process {}", process.value),
                       "name a process below Fabric::processes()");
}

}  // namespace

Fabric::Fabric(const Config& config, std::unique_ptr<Bootstrap> bootstrap)
    : impl_(std::make_unique<Impl>(*this, config, std::move(bootstrap))) {
  inside_.threads_ = &impl_->threads;
  inside_.failures_ = &impl_->failures;
  inside_.pending_ = &impl_->pending;
  inside_.messages_ = &impl_->messages;
  inside_.connections_ = &impl_->connections;
  inside_.control_ = &impl_->control_service;
  inside_.termination_ = &impl_->termination;
  inside_.groups_ = &impl_->groups;
  inside_.calls_ = &impl_->call_tables;
  // Only now: peers may call as soon as they have started.
  impl_->start();
}

Fabric::~Fabric() { impl_->leave(); }

ProcessId Fabric::process() const noexcept { return impl_->members.self(); }
std::uint32_t Fabric::processes() const noexcept { return impl_->members.count(); }
std::uint32_t Fabric::founders() const noexcept { return impl_->members.founders(); }
std::uint32_t Fabric::capacity() const noexcept { return impl_->members.capacity(); }
std::uint32_t Fabric::machines() const noexcept { return impl_->members.machines(); }
ProcessInfo Fabric::info(ProcessId process) const noexcept {
  if (process.value >= capacity()) return {process, {}, 0, 0, {}, 0, {}};
  return impl_->members.info(process);
}
std::uint32_t Fabric::total_threads() const noexcept { return impl_->members.total_threads(); }
std::uint32_t Fabric::max_threads() const noexcept { return impl_->members.max_threads(); }

std::uint32_t Fabric::rank_of(ThreadId thread) const noexcept {
  return impl_->members.rank_of(thread);
}
std::uint32_t Fabric::rank_capacity() const noexcept { return impl_->members.rank_capacity(); }
ThreadId Fabric::thread_of_rank(std::uint32_t rank) const noexcept {
  return impl_->members.thread_of_rank(rank);
}
bool Fabric::exists(ThreadId thread) const noexcept { return impl_->members.exists(thread); }

dtutils::NumaZone Fabric::zone_of(ThreadId thread) const noexcept {
  return impl_->members.zone_of(thread);
}

std::vector<ThreadId> Fabric::threads_on(MachineId machine) const {
  std::vector<ThreadId> threads;
  for (std::uint16_t process = 0; process < processes(); ++process) {
    const ProcessInfo there = info({process});
    for (std::uint16_t i = 0; there.machine == machine && i < there.threads; ++i) {
      threads.push_back({{process}, i});
    }
  }
  return threads;
}

std::vector<ThreadId> Fabric::threads_in(MachineId machine, dtutils::NumaZone zone) const {
  std::vector<ThreadId> threads = threads_on(machine);
  std::erase_if(threads, [&](ThreadId thread) { return zone_of(thread) != zone; });
  return threads;
}

const Config& Fabric::config() const noexcept { return impl_->config; }
const dtutils::DeviceInfo& Fabric::device() const noexcept { return impl_->device->info(); }
std::string Fabric::launched_by() const { return impl_->bootstrap.name(); }

Thread* Fabric::current_thread() noexcept {
  const ThreadContext* const context = impl_->threads.known();
  return context != nullptr ? context->worker : nullptr;
}

std::uint32_t Fabric::max_message() const noexcept { return impl_->messages.max_message(); }

void Fabric::set_message_handler(MessageKind kind, MessageHandler handler) {
  impl_->messages.set_handler(kind, handler);
}

bool Fabric::progress() {
  const bool busy = impl_->messages.progress(impl_->threads.mine());
  busy ? dtutils::found_something() : dtutils::found_nothing();
  return busy;
}

dtutils::Transmitter& Fabric::transmitter(ProcessId to) {
  require_process(*this, to, "Fabric::transmitter()");
  return impl_->connections.of(impl_->threads.mine(), to);
}

dtutils::Transmitter& Fabric::transmitter_of(std::uint32_t worker, ProcessId to) noexcept {
  return impl_->connections.of(impl_->threads.worker(worker), to);
}

std::uint32_t Fabric::connections() const noexcept { return impl_->handshakes.connected(); }

bool Fabric::connected(ProcessId with) const noexcept {
  return with.value < capacity() && impl_->connections.ready(with);
}

void Fabric::make_room(dtutils::Transmitter& transmitter) {
  impl_->messages.make_room(impl_->threads.mine(), transmitter);
}

dtutils::ProtectionDomain& Fabric::protection_domain() noexcept { return impl_->pd; }
dtutils::RDMAAllocator& Fabric::allocator(dtutils::NumaZone zone) noexcept {
  return impl_->zones.at(zone).pages;
}
dtutils::RDMAAllocator& Fabric::allocator() noexcept { return impl_->zones.first().pages; }
dtutils::GeneralAllocator& Fabric::general_allocator(dtutils::NumaZone zone) noexcept {
  return impl_->zones.at(zone).pieces;
}
dtutils::GeneralAllocator& Fabric::general_allocator() noexcept {
  return impl_->zones.first().pieces;
}

RemoteMemory Fabric::allocate_remote(ProcessId owner, std::size_t bytes,
                                     std::optional<dtutils::NumaZone> zone) {
  require_process(*this, owner, "Fabric::allocate_remote()");
  return impl_->control_service.allocate(owner, bytes, zone);
}
RemoteMemory Fabric::allocate_near(ThreadId thread, std::size_t bytes) {
  if (!exists(thread)) {
    throw dtutils::Error("Fabric::allocate_near()", fmt::format("there is no worker {}", thread),
                         "ask Fabric::thread_of_rank or Thread::neighbour for one");
  }
  return allocate_remote(thread.process, bytes, zone_of(thread));
}

void Fabric::publish(std::string_view name, std::span<const std::byte> value) {
  impl_->control_service.publish(name, value);
}
std::optional<std::vector<std::byte>> Fabric::lookup(std::string_view name) {
  return impl_->control_service.lookup(name);
}

PeerState Fabric::state(ProcessId process) const noexcept {
  return process.value < capacity() ? impl_->failures.state(process) : PeerState::kFailed;
}
std::uint32_t Fabric::failures() const noexcept { return impl_->failures.count(); }
std::string Fabric::failure_reason(ProcessId process) const {
  return impl_->failures.reason(process);
}
UpcallId Fabric::on_failure(std::function<void(ProcessId, const std::string& reason)> upcall) {
  return impl_->failures.on_failure(std::move(upcall));
}
UpcallId Fabric::on_watch(std::function<void()> look) {
  return impl_->failures.on_watch(std::move(look));
}
void Fabric::remove_upcall(UpcallId upcall) noexcept { impl_->failures.remove(upcall); }
void Fabric::on_change(MemberUpcalls upcalls) {
  impl_->failures.on_change([upcalls = std::move(upcalls)](JobEvent::Kind kind, ProcessId process,
                                                           const std::string& reason) {
    switch (kind) {
      case JobEvent::Kind::kJoined:
        if (upcalls.on_join) upcalls.on_join(process);
        return;
      case JobEvent::Kind::kLeft:
        if (upcalls.on_leave) upcalls.on_leave(process);
        return;
      case JobEvent::Kind::kFailed:
        if (upcalls.on_failure) upcalls.on_failure(process, reason);
        return;
    }
  });
}
void Fabric::fail(ProcessId process, std::string_view reason) noexcept {
  if (process == this->process()) return impl_->own_failure.declare(reason);
  if (process.value < capacity()) impl_->failures.declare(process, reason);
}
void watch_own_connections(Fabric& fabric) {
  static const char key = 0;
  (void)fabric.attachment(&key, [](Fabric& its) {
    its.on_watch([&its] {
      const Connections& connections = detail::Inside::connections(its);
      const ProcessId here = its.process();
      if (!connections.broken(here) || its.failed(here)) return;
      its.fail(here, "of its connections to itself: " + connections.why_broken(here));
    });
    return std::make_shared<char>();
  });
}

void Fabric::on_exception(std::function<void(const CallContext&, std::exception_ptr)> upcall) {
  impl_->exceptions.on_exception(std::move(upcall));
}
void Fabric::report_exception(const CallContext& call, std::exception_ptr thrown) {
  impl_->exceptions.report(call, std::move(thrown));
}

const detail::FunctionTable& Fabric::functions() const noexcept {
  return impl_->call_tables.mine();
}
std::uint64_t Fabric::calls_sent() const noexcept {
  return impl_->threads.sum(&ThreadContext::calls_sent);
}
std::uint64_t Fabric::calls_run() const noexcept {
  return impl_->threads.sum(&ThreadContext::calls_run);
}

std::vector<std::vector<std::byte>> Fabric::exchange(std::span<const std::byte> mine) {
  impl_->everybody.require_whole_job("Fabric::exchange()");
  // As in every collective: handlers of those that come out of it see what was made before it.
  impl_->arrivals.publish();
  return impl_->bootstrap.all_gather(mine, impl_->config.start_timeout);
}

std::shared_ptr<void> Fabric::attachment(
    const void* key, const std::function<std::shared_ptr<void>(Fabric&)>& make) {
  return impl_->attachments.find_or_make(key, [&] { return make(*this); });
}

void Fabric::add_call_ledger(CallLedger& ledger) { impl_->termination.add(ledger); }

void Fabric::at_thread_start(std::function<void(Thread&)> start) {
  impl_->thread_starts.add(std::move(start));
}

}  // namespace dsfabric
