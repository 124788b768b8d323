// SPDX-License-Identifier: MIT
// Watcher: one RDMA read, or one call.
#include "monitoring/watcher.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "dsfabric/call_context.hpp"
#include "dsfabric/peer_failed.hpp"
#include "page.hpp"

namespace monitoring {
namespace {

using detail::Block;
using detail::Description;
using detail::PageLayout;

/// Descriptions are read into this much, behind a block.
constexpr std::size_t kScratch = sizeof(Block) + sizeof(PageLayout::descriptions);

bool gone(const dsfabric::Fabric& fabric, dsfabric::ProcessId process) noexcept {
  return process != fabric.process() && fabric.state(process) != dsfabric::PeerState::kActive;
}

/// What a service thread answers.
struct Answer {
  Status status;
  Reading reading;
};

Answer answer_with(dsfabric::Fabric& fabric, bool copy) {
  Answer answer{};
  const auto page = detail::Page::find(fabric);
  if (page == nullptr) {
    answer.status = Status::kNoBoard;
    return answer;
  }
  if (!copy) page->take_figures();
  page->read(copy, answer.reading);
  answer.status = copy && answer.reading.sampled_at == 0 ? Status::kNoSample : Status::kDone;
  return answer;
}

}  // namespace

const char* to_string(Status status) noexcept {
  switch (status) {
    case Status::kDone:
      return "done";
    case Status::kNoBoard:
      return "the process has made no board";
    case Status::kNoSample:
      return "no sampler of the process has made a copy";
    case Status::kOtherLayout:
      return "the process has another version of the library";
    case Status::kGone:
      return "the process has failed or left";
  }
  return "unknown";
}

Watcher::Watcher(dsfabric::Fabric& fabric)
    : fabric_(fabric),
      calls_(fabric),
      scratch_(fabric.general_allocator().allocate(kScratch)),
      known_(fabric.founders()) {}

Status Watcher::find(dsfabric::ProcessId process, Known*& known) {
  if (process.value >= known_.size() || gone(fabric_, process)) return Status::kGone;
  known = &known_[process.value];
  if (known->page.length != 0) return Status::kDone;
  std::optional<std::vector<std::byte>> found;
  try {
    found = fabric_.lookup(detail::Page::name_of(process));
  } catch (const dsfabric::PeerFailed&) {
    // The process that kept the name took it along.
    return ask_for_place(process, *known);
  }
  if (!found || found->size() != sizeof known->page) {
    return gone(fabric_, process) ? Status::kGone : Status::kNoBoard;
  }
  std::memcpy(&known->page, found->data(), sizeof known->page);
  return Status::kDone;
}

Status Watcher::ask_for_place(dsfabric::ProcessId process, Known& known) {
  if (gone(fabric_, process)) return Status::kGone;
  try {
    auto answer = calls_.call_return(dsfabric::ThreadId::service_of(process),
                                     [](dsfabric::CallContext& call) {
                                       const auto page = detail::Page::find(call.fabric);
                                       return page ? page->place() : dtutils::RemoteMemoryLocator{};
                                     });
    known.page = answer.get();
  } catch (const dsfabric::PeerFailed&) {
    return Status::kGone;
  }
  return known.page.length != 0 ? Status::kDone : Status::kNoBoard;
}

Status Watcher::read(dsfabric::ProcessId process, Reading& into, Scheme scheme) {
  const bool copy = scheme == Scheme::kRdmaAsync || scheme == Scheme::kMessageAsync;
  if (scheme == Scheme::kMessageSync || scheme == Scheme::kMessageAsync) {
    return by_message(process, copy, into);
  }
  Known* known = nullptr;
  const Status status = find(process, known);
  return status == Status::kDone ? by_rdma(process, *known, copy, into) : status;
}

Status Watcher::by_rdma(dsfabric::ProcessId process, const Known& known, bool copy, Reading& into) {
  const std::size_t offset = copy ? offsetof(PageLayout, copy) : offsetof(PageLayout, live);
  if (!fabric_.transmitter(process).blocking_read(scratch_.local(0, sizeof(Block)),
                                                  known.page.part(offset, sizeof(Block)))) {
    return Status::kGone;
  }
  return detail::decode(*reinterpret_cast<const Block*>(scratch_.data()), copy, into);
}

Status Watcher::by_message(dsfabric::ProcessId process, bool copy, Reading& into) {
  if (gone(fabric_, process)) return Status::kGone;
  try {
    auto answer = calls_.call_return(
        dsfabric::ThreadId::service_of(process),
        [copy](dsfabric::CallContext& call) { return answer_with(call.fabric, copy); });
    const Answer come = answer.get();
    into = come.reading;
    return come.status;
  } catch (const dsfabric::PeerFailed&) {
    return Status::kGone;
  }
}

const std::vector<CounterInfo>& Watcher::counters(dsfabric::ProcessId process,
                                                  std::uint32_t count) {
  Known* known = nullptr;
  std::vector<CounterInfo>& counters = known_.at(process.value).counters;
  const auto have = static_cast<std::uint32_t>(counters.size());
  count = std::min(count, kMaxCounters);
  if (have >= count || find(process, known) != Status::kDone) return counters;
  const std::uint32_t bytes = (count - have) * sizeof(Description);
  const std::size_t offset = offsetof(PageLayout, descriptions) + have * sizeof(Description);
  if (!fabric_.transmitter(process).blocking_read(scratch_.local(sizeof(Block), bytes),
                                                  known->page.part(offset, bytes))) {
    return counters;
  }
  const auto* const read = reinterpret_cast<const Description*>(scratch_.data() + sizeof(Block));
  for (std::uint32_t i = 0; i < count - have; ++i) {
    counters.push_back({std::string(read[i].name, strnlen(read[i].name, sizeof read[i].name)),
                        std::string(read[i].unit, strnlen(read[i].unit, sizeof read[i].unit)),
                        read[i].kind == Kind::kLevel ? Kind::kLevel : Kind::kTotal});
  }
  return counters;
}

}  // namespace monitoring
