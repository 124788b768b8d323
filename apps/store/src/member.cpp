// SPDX-License-Identifier: MIT
// The loop of a member: clients, group, disk.
#include "store/member.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"

namespace store {
namespace {

/// A member that reads its log at the start may be silent for so long.
constexpr std::chrono::minutes kReading{1};
/// A newcomer that is no member after so long says why.
constexpr std::chrono::seconds kLong{10};

std::uint64_t clock_now() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

/// Of the name of a store: what its files say. Never 0.
std::uint64_t group_number(const std::string& name) noexcept {
  return dtutils::Fnv1a().text(name).value() | 1;
}

}  // namespace

Member::Member(sst::TableGroup& tables, const MemberOptions& options)
    : options_(options),
      fabric_(tables.fabric()),
      engine_({.max_message = options.max_message,
               .max_command = options.max_command,
               .sender = tables.fabric().process().value,
               .clock = clock_now,
               .describe = [this](bool status) { return describe(status); }}),
      durable_(open()),
      pace_(tables.fabric()) {
  const groups::Restart at = restart(tables);
  group_ = std::make_unique<groups::OrderedGroup>(
      tables,
      groups::GroupOptions{.max_message = options.max_message,
                           .patience = options.patience,
                           .first_view = at.view,
                           .first_sequence = at.sequence,
                           .name = options.name},
      groups::GroupUpcalls{.deliver = [this](const groups::Delivery& message) { deliver(message); },
                           .snapshot = [this](std::uint64_t next) { return snapshot(next); },
                           .restore = [this](std::span<const std::byte> state,
                                             std::uint64_t) { take_state(state); }});
}

Member::~Member() = default;

std::unique_ptr<groups::DurableState> Member::open() {
  if (options_.folder.empty()) return nullptr;
  groups::DurableOptions durable;
  durable.log.folder = options_.folder;
  durable.log.group = group_number(options_.name);
  durable.log.cut_damage = options_.cut_damage;
  durable.checkpoint_every = options_.checkpoint_every;
  if (options_.patience.count() != 0) {
    durable.restart_patience = std::max<std::chrono::milliseconds>(options_.patience, kReading);
  }
  return std::make_unique<groups::DurableState>(
      durable,
      groups::DurableUpcalls{
          .apply =
              [this](const groups::LogRecord& record) { engine_.deliver(record.bytes, false); },
          .snapshot = [this] { return engine_.snapshot(); },
          .restore = [this](std::span<const std::byte> state) { engine_.restore(state); }});
}

groups::Restart Member::restart(sst::TableGroup& tables) {
  const bool founder = fabric_.process().value < fabric_.founders();
  return durable_ && founder ? durable_->restart(tables) : groups::Restart{1, 1};
}

void Member::apply(std::span<const std::byte> bytes, bool mine, std::uint64_t view,
                   std::uint64_t sequence) {
  engine_.deliver(bytes, mine);
  if (durable_) durable_->applied(view, sequence);
}

void Member::deliver(const groups::Delivery& message) {
  const bool mine = message.sender == group_->process();
  if (durable_) durable_->append(message);
  if (!options_.sync || disk_failed_) {
    return apply(message.bytes, mine, message.view, message.sequence);
  }
  held_.push_back(
      {message.view, message.sequence, mine, {message.bytes.begin(), message.bytes.end()}});
}

bool Member::apply_held(std::uint64_t below) {
  bool did = false;
  for (; !held_.empty() && held_.front().sequence < below; held_.pop_front()) {
    const Held& held = held_.front();
    apply(held.bytes, held.mine, held.view, held.sequence);
    did = true;
  }
  return did;
}

void Member::send() {
  for (;;) {
    if (engine_.reads_wait()) {
      engine_.begin_reads(group_->begin_read());
      continue;
    }
    const std::span<const std::byte> message = engine_.message();
    if (message.empty() ||
        group_->try_send(message.data(), static_cast<std::uint32_t>(message.size())) !=
            groups::SendStatus::kAccepted) {
      break;
    }
    engine_.sent();
  }
  group_->flush();
}

bool Member::run_reads() {
  const auto applied = [&] { return held_.empty() || held_.front().sequence >= reads_see_; };
  if (applied()) {
    readable_ = group_->readable();
    reads_see_ = group_->next_sequence();
  }
  return applied() && engine_.run_reads(readable_);
}

void Member::watch_group() {
  const groups::GroupState now = group_->state();
  if (now == state_) return;
  state_ = now;
  if (now == groups::GroupState::kMajorityLost || now == groups::GroupState::kRemoved) {
    const std::string error =
        fmt::format("CLUSTERDOWN {}; READONLY allows reads that may be old",
                    now == groups::GroupState::kRemoved
                        ? "this member was removed by the others, go to one of them"
                        : "a majority of the members is lost");
    engine_.give_up(error + " (what was sent may have been done)");
    engine_.refuse(error, true);
  } else if (now == groups::GroupState::kWorking && !disk_failed_) {
    // What looked like the loss of a majority was a view that this member had not come to yet.
    engine_.refuse({}, false);
  }
}

void Member::watch_disk() {
  if (disk_failed_ || !durable_ || !durable_->failed()) return;
  disk_failed_ = true;
  fmt::print(stderr, "store: {}\n", durable_->why_failed());
  const std::string error =
      "MISCONF this member cannot write its log, go to another one: " + durable_->why_failed();
  engine_.refuse(error, options_.sync);
  if (!options_.sync) return;
  // The others would wait for its disk. They go on without it, and it answers old reads.
  engine_.give_up(error);
  apply_held(UINT64_MAX);
  group_->leave();
}

bool Member::persist() {
  if (!durable_) return false;
  bool busy = durable_->poll();
  group_->set_persisted(durable_->persisted());
  if (!held_.empty()) busy |= apply_held(group_->persisted_by_all());
  return busy;
}

bool Member::join(const std::atomic<bool>& stop) {
  const auto begin = std::chrono::steady_clock::now();
  bool told = false;
  group_->join();
  while (group_->view().id == 0) {
    if (stop.load(std::memory_order_relaxed)) return false;
    const bool progressed = group_->progress();
    const bool persisted = persist();
    pace_.after(progressed || persisted);
    if (durable_ && durable_->failed()) {
      throw dtutils::Error(options_.folder, durable_->why_failed(), "make room");
    }
    if (!told && std::chrono::steady_clock::now() - begin > kLong) {
      told = true;
      fmt::print(stderr, "store: this member waits for others, of whom more than half must live\n");
    }
  }
  server_ = std::make_unique<Server>(engine_, options_.server);
  return true;
}

bool Member::is_removed() const noexcept {
  return state_ == groups::GroupState::kRemoved || fabric_.failed(fabric_.process());
}

bool Member::run(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    bool busy = server_->poll();
    send();
    busy |= group_->progress();
    busy |= persist();
    busy |= run_reads();
    watch_group();
    watch_disk();
    busy |= server_->flush();
    if (options_.replaced && is_removed()) return false;
    pace_.after(busy);
  }
  return true;
}

std::string Member::status() const {
  const groups::View& view = group_->view();
  std::vector<std::uint16_t> members;
  for (const dsfabric::ProcessId member : view.members) members.push_back(member.value);
  std::string text = fmt::format(
      "member:{}\r\npid:{}\r\nstate:{}\r\nview:{}\r\nmembers:{}\r\ndelivered:{}\r\nlag:{}\r\n"
      "keys:{}\r\nclients:{}\r\ncommands:{}\r\n",
      group_->process().value, ::getpid(), groups::to_string(group_->state()), view.id,
      fmt::join(members, ","), group_->next_sequence(), group_->undelivered(),
      engine_.database().size(), server_->clients(), engine_.commands());
  if (!durable_) return text + "log:none\r\n";
  const groups::LogExtent log = durable_->log().extent();
  return text + fmt::format("log:{} to {}\r\nlog_lag:{}\r\ncheckpoint:{}\r\nlog_error:{}\r\n",
                            log.first, log.end, log.end - durable_->persisted(),
                            durable_->checkpoint(), durable_->why_failed());
}

std::string Member::describe(bool status) const {
  return status ? this->status() : "# Server\r\nserver_name:cariama-store\r\n" + this->status();
}

}  // namespace store
