// SPDX-License-Identifier: MIT
// TableCore: sharing memory, pushing copies, fetching rows, telling of failures.
#include "sst/detail/table_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace sst::detail {
namespace {

using dsfabric::ProcessId;

constexpr std::uint64_t kReady = 1;
static_assert(kReady < TableGroup::kGoodbye);

/// Copies memory that other threads of this process may write, word by word: a field is whole, a
/// a Versioned at worst seen in progress.
void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  using Word [[gnu::may_alias]] = std::uint64_t;
  for (std::size_t at = 0; at < bytes; at += sizeof(Word)) {
    // Acquire: pairs with store_field, so that a copy does not miss what came before its newest.
    const Word word = __atomic_load_n(reinterpret_cast<const Word*>(from + at), __ATOMIC_ACQUIRE);
    std::memcpy(to + at, &word, sizeof word);
  }
}

std::vector<ProcessId> all_processes(const dsfabric::Fabric& fabric) {
  std::vector<ProcessId> all;
  for (std::uint32_t i = 0; i < fabric.founders(); ++i) {
    all.push_back({static_cast<std::uint16_t>(i)});
  }
  return all;
}

std::uint64_t mix(std::uint64_t sum, std::uint64_t value) noexcept {
  return (sum ^ value) * 1'099'511'628'211u;
}

/// By it members know the table from others.
std::uint64_t digest_of(const TableOptions& options, const TableCore::Shape& shape) noexcept {
  std::uint64_t digest = mix(shape.digest, options.members.size());
  for (const ProcessId member : options.members) digest = mix(digest, member.value + 1u);
  for (const char letter : options.name) digest = mix(digest, static_cast<unsigned char>(letter));
  return mix(digest, static_cast<std::uint64_t>(options.mode));
}

}  // namespace

bool TableCore::is_offered(const TableGroup& group, const TableOptions& options, const Shape& shape,
                           ProcessId by) noexcept {
  return group.is_offered(by, digest_of(options, shape));
}

TableCore::TableCore(TableGroup& group, TableOptions options, const Shape& shape,
                     const void* initial, dtutils::RDMAMemory kept)
    : group_(group),
      options_(std::move(options)),
      shape_(shape),
      max_inline_(group.max_inline()),
      kept_(std::move(kept)),
      failures_seen_(group.failures()) {
  if (options_.members.empty()) options_.members = all_processes(group.fabric());
  const std::vector<ProcessId>& members = options_.members;
  const auto unknown = std::ranges::find_if(
      members, [&](ProcessId member) { return member.value >= group.fabric().processes(); });
  if (unknown != members.end()) {
    throw dtutils::Error(fmt::format("table {}", options_.name),
                         fmt::format("process {} is not in the job", unknown->value),
                         "name processes that have come to it");
  }
  if (members.size() > kMaxMembers) {
    throw dtutils::Error(fmt::format("table {}", options_.name),
                         fmt::format("{} members are too many", members.size()),
                         fmt::format("use at most {}", kMaxMembers));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (find(members[i]) == MemberId{static_cast<std::uint16_t>(i)}) continue;
    throw dtutils::Error(fmt::format("table {}", options_.name),
                         fmt::format("process {} is named twice", members[i].value),
                         "name each member once");
  }
  const std::optional<MemberId> self = find(group.fabric().process());
  if (!self) {
    throw dtutils::Error(fmt::format("table {}", options_.name), "this process is no member of it",
                         "make it at its members only");
  }
  self_ = *self;
  told_.assign(members.size(), false);
  share(initial);
}

TableCore::~TableCore() {
  for (std::size_t i = 0; fetches_ && i < size(); ++i) {
    if (!fetches_[i].pending) continue;
    // It ends when the peer answers or its connection breaks; only then is the Synchronizer ours.
    dtutils::Transmitter& from = group_.transmitter(options_.members[i]);
    while (!fetches_[i].arrived.done()) (void)from.wait(fetches_[i].arrived, kFlushTimeout);
  }
  set_state(TableGroup::kGoodbye);
  defer_free();
}

void TableCore::defer_free() {
  TableGroup::DeferredFree deferred;
  for (const Peer& peer : peers_) {
    deferred.tags.push_back(peer.transmitter->tag());
    deferred.goodbyes.push_back({options_.members[peer.member.value], state_line(peer.member)});
  }
  deferred.memory.push_back(std::move(kept_));
  deferred.memory.push_back(std::move(memory_));
  deferred.memory.push_back(std::move(buffer_memory_));
  group_.defer_free(std::move(deferred));
}

std::optional<MemberId> TableCore::find(ProcessId process) const noexcept {
  const auto at = std::find(options_.members.begin(), options_.members.end(), process);
  if (at == options_.members.end()) return std::nullopt;
  return MemberId{static_cast<std::uint16_t>(at - options_.members.begin())};
}

std::uint64_t* TableCore::state_line(MemberId member) const noexcept {
  return reinterpret_cast<std::uint64_t*>(rows_ + size() * shape_.stride + member.value * kLine);
}

void TableCore::set_state(std::uint64_t state) noexcept {
  const std::size_t offset = size() * shape_.stride + self_.value * kLine;
  for (const Peer& peer : peers_) {
    const ProcessId process = options_.members[peer.member.value];
    (void)group_.write_word(process, tables_[peer.member.value].part(offset, sizeof state), state);
  }
}

void TableCore::share(const void* initial) {
  const std::size_t bytes = size() * (shape_.stride + kLine);
  dtutils::GeneralAllocator& allocator = group_.fabric().general_allocator();
  memory_ = allocator.allocate(bytes);
  rows_ = memory_.data();
  std::memset(rows_, 0, bytes);
  own_row_ = row(self_);
  std::memcpy(own_row_, initial, shape_.row_bytes);
  if (shape_.row_bytes > max_inline_) {
    buffer_memory_ = allocator.allocate(kPushBuffers * shape_.stride);
  }

  // The next member first, so that not all begin with the same one.
  for (std::size_t i = 1; i < size(); ++i) {
    const MemberId member{static_cast<std::uint16_t>((self_.value + i) % size())};
    peers_.push_back({&group_.transmitter(options_.members[member.value]), 0, 0, member});
  }
  for (PushBuffer& buffer : buffers_) buffer.tags.resize(peers_.size());

  const auto made = [&](ProcessId process) {
    const std::optional<MemberId> member = find(process);
    return member && dtutils::load_device_word(state_line(*member)) >= kReady;
  };
  const TableGroup::Meeting meeting{options_.members, digest_of(options_, shape_), options_.name,
                                    made, options_.give_up};
  try {
    tables_ = group_.meet(meeting, memory_.remote());
    for (Peer& peer : peers_) {
      const dtutils::RemoteMemoryLocator& table = tables_[peer.member.value];
      peer.own_row_there = table.address + self_.value * shape_.stride;
      peer.rkey = table.rkey;
    }
    push(own_row_, 0, static_cast<std::uint32_t>(shape_.row_bytes));
    set_state(kReady);
    for (const Peer& peer : peers_) {
      const ProcessId process = options_.members[peer.member.value];
      group_.await(meeting, process, [&] { return made(process); });
    }
  } catch (...) {
    // Others may have been told of it.
    if (!tables_.empty()) set_state(TableGroup::kGoodbye);
    defer_free();
    throw;
  }
  if (options_.mode == Mode::kReads) {
    landing_ = allocator.allocate(size() * shape_.stride);
    fetches_ = std::make_unique<Fetch[]>(size());
    for (const Peer& peer : peers_) {
      const std::uint16_t i = peer.member.value;
      fetches_[i].from = tables_[i].part(i * shape_.stride, shape_.row_bytes);
    }
  }
}

void TableCore::push_copy(std::byte* row, std::size_t offset, std::uint32_t bytes) noexcept {
  std::size_t i;
  do {
    i = next_buffer_.fetch_add(1, std::memory_order_relaxed) % kPushBuffers;
    // Acquire: pairs with the release below, for the tags.
  } while (buffers_[i].busy.exchange(true, std::memory_order_acquire));
  PushBuffer& buffer = buffers_[i];
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    // False when the connection is broken, and then nobody reads the buffer.
    if (!buffer.tags[peer].done()) (void)peers_[peer].transmitter->wait(buffer.tags[peer]);
  }
  const std::size_t begin = i * shape_.stride + offset;
  // Whole words: the row and its stride begin at a cache line.
  const std::size_t first = offset / sizeof(std::uint64_t) * sizeof(std::uint64_t);
  copy_words(buffer_memory_.data() + i * shape_.stride + first, row + first,
             offset + bytes - first);
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    const Peer& to = peers_[peer];
    (void)to.transmitter->write(buffer_memory_.local(begin, bytes),
                                {to.own_row_there + offset, bytes, to.rkey, 0, 0});
    buffer.tags[peer] = to.transmitter->tag();
  }
  buffer.busy.store(false, std::memory_order_release);
}

bool TableCore::refresh(std::chrono::nanoseconds pace) noexcept {
  const bool arrived = fetching_ != 0 && take_fetched();
  if (fetching_ == 0) {
    if (pace.count() == 0) {
      start_fetches();
    } else if (const auto now = dtutils::Clock::now(); now - last_refresh_ >= pace) {
      last_refresh_ = now;
      start_fetches();
    }
  }
  return arrived;
}

void TableCore::start_fetches() noexcept {
  for (const Peer& peer : peers_) {
    Fetch& fetch = fetches_[peer.member.value];
    if (peer.transmitter->broken()) continue;
    fetch.arrived.expect(1);
    fetch.pending = true;
    ++fetching_;
    // When it answers false the Synchronizer has failed already.
    (void)peer.transmitter->read(landing_.local(peer.member.value * shape_.stride,
                                                static_cast<std::uint32_t>(shape_.row_bytes)),
                                 fetch.from, dtutils::PostOptions(fetch.arrived));
  }
}

bool TableCore::take_fetched() noexcept {
  bool arrived = false;
  for (const Peer& peer : peers_) {
    Fetch& fetch = fetches_[peer.member.value];
    if (!fetch.pending) continue;
    if (!fetch.arrived.done()) peer.transmitter->progress();
    if (!fetch.arrived.done()) continue;
    fetch.pending = false;
    --fetching_;
    if (fetch.arrived.failures() != 0) continue;
    // From a landing place, because a device may place the words of a Versioned in any order.
    shape_.copy(row(peer.member), landing_.data() + peer.member.value * shape_.stride);
    arrived = true;
  }
  return arrived;
}

void TableCore::tell_failures() {
  failures_seen_ = group_.failures();
  for (std::uint16_t i = 0; i < size(); ++i) {
    const ProcessId member = options_.members[i];
    if (told_[i] || !group_.fabric().failed(member)) continue;
    // The fabric says so before it cuts the connections, which is new once more.
    if (!group_.cut_off(member)) continue;
    told_[i] = true;
    const std::string reason = group_.fabric().failure_reason(member);
    for (const FailureUpcall& upcall : upcalls_) upcall({i}, reason);
  }
}

void TableCore::on_failure(FailureUpcall upcall) {
  for (std::uint16_t i = 0; i < size(); ++i) {
    if (told_[i]) upcall({i}, group_.fabric().failure_reason(options_.members[i]));
  }
  upcalls_.push_back(std::move(upcall));
}

bool TableCore::frozen(MemberId member) const noexcept {
  return group_.cut_off(options_.members[member.value]);
}

}  // namespace sst::detail
