// SPDX-License-Identifier: MIT
// Page: counters, the copy of them, and how peers find it.
#include "page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/error.hpp"

namespace monitoring::detail {
namespace {

/// What a fabric keeps, whether there is a page or not.
struct Kept {
  std::mutex mutex;
  std::shared_ptr<Page> page;
  bool announced = false;
};

std::shared_ptr<Kept> kept_by(dsfabric::Fabric& fabric) {
  static constexpr char key = 0;
  return std::static_pointer_cast<Kept>(
      fabric.attachment(&key, [](dsfabric::Fabric&) { return std::make_shared<Kept>(); }));
}

[[noreturn]] void refuse(std::string_view name, const std::string& happened,
                         const std::string& remedy) {
  throw dtutils::Error(fmt::format("counter '{}'", name), happened, remedy);
}

/// Without spaces and control characters: it is a word in lines of text, and on a terminal.
bool is_word(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > ' ' && byte != 0x7f;
  });
}

std::string_view text_of(const char* field, std::size_t size) noexcept {
  return {field, strnlen(field, size)};
}

}  // namespace

Page::Page(dsfabric::Fabric& fabric)
    : memory_(fabric.general_allocator().allocate(sizeof(PageLayout))) {
  std::memset(memory_.data(), 0, sizeof(PageLayout));
  layout().live.layout = kLayout;
  layout().copy.layout = kLayout;
}

std::shared_ptr<Page> Page::of(dsfabric::Fabric& fabric) {
  const auto kept = kept_by(fabric);
  std::shared_ptr<Page> page;
  bool announced;
  {
    const std::scoped_lock lock(kept->mutex);
    if (kept->page == nullptr) kept->page = std::make_shared<Page>(fabric);
    page = kept->page;
    announced = kept->announced;
  }
  // Outside of the lock, because it serves meanwhile; to publish it twice does no harm.
  if (!announced) {
    const dtutils::RemoteMemoryLocator place = page->place();
    try {
      fabric.publish(name_of(fabric.process()), std::as_bytes(std::span(&place, 1)));
    } catch (const dsfabric::PeerFailed&) {
      // Nobody keeps that name any more, so watchers ask this process.
    }
    const std::scoped_lock lock(kept->mutex);
    kept->announced = true;
  }
  return page;
}

std::shared_ptr<Page> Page::find(dsfabric::Fabric& fabric) {
  const auto kept = kept_by(fabric);
  const std::scoped_lock lock(kept->mutex);
  return kept->page;
}

std::string Page::name_of(dsfabric::ProcessId process) {
  return fmt::format("monitoring.board.{}", process.value);
}

Counter Page::counter(std::string_view name, std::string_view unit, Kind kind) {
  if (name.empty() || name.size() > kMaxCounterName || !is_word(name)) {
    refuse(is_word(name) ? name : "...", "it is no name",
           fmt::format("use 1 to {} bytes without spaces and control characters", kMaxCounterName));
  }
  if (unit.size() > kMaxUnit || !is_word(unit)) {
    refuse(name, is_word(unit) ? fmt::format("'{}' is no unit", unit) : "its unit is no unit",
           fmt::format("use at most {} bytes without spaces and control characters", kMaxUnit));
  }
  const std::scoped_lock lock(mutex_);
  PageLayout& page = layout();
  const std::uint64_t count = page.live.count;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Description& known = page.descriptions[i];
    if (text_of(known.name, sizeof known.name) != name) continue;
    if (text_of(known.unit, sizeof known.unit) != unit || known.kind != kind) {
      refuse(name, "it exists with another unit or kind", "name one thing in one way");
    }
    return Counter(page.live.values[i]);
  }
  if (count == kMaxCounters) {
    refuse(name,
           fmt::format("this process has {} counters already, which is the limit "
                       "(monitoring::kMaxCounters)",
                       count),
           "count several things in one counter; a Sampler and WorkerFigures need some, too");
  }
  Description& description = page.descriptions[count];
  name.copy(description.name, kMaxCounterName);
  unit.copy(description.unit, kMaxUnit);
  description.kind = kind;
  // Release: who reads the count finds the description.
  std::atomic_ref(page.live.count).store(count + 1, std::memory_order_release);
  return Counter(page.live.values[count]);
}

void Page::take_figures() {
  const std::scoped_lock lock(figures_mutex_);
  if (!figures_) {
    figures_.emplace(*this);
  } else {
    figures_->take();
  }
}

void Page::make_copy() {
  const std::scoped_lock lock(mutex_);
  PageLayout& page = layout();
  for (std::uint64_t i = 0; i < page.live.count; ++i) {
    std::atomic_ref(page.copy.values[i])
        .store(Counter(page.live.values[i]).value(), std::memory_order_relaxed);
  }
  std::atomic_ref(page.copy.count).store(page.live.count, std::memory_order_release);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  std::atomic_ref(page.copy.sampled_at)
      .store(static_cast<std::uint64_t>(ns), std::memory_order_release);
}

void Page::read(bool copy, Reading& into) const noexcept {
  Block& block = copy ? layout().copy : layout().live;
  into.sampled_at = std::atomic_ref(block.sampled_at).load(std::memory_order_acquire);
  into.count =
      static_cast<std::uint32_t>(std::atomic_ref(block.count).load(std::memory_order_acquire));
  for (std::uint32_t i = 0; i < into.count; ++i) {
    into.values[i] = std::atomic_ref(block.values[i]).load(std::memory_order_relaxed);
  }
}

Status decode(const Block& block, bool copy, Reading& into) noexcept {
  if (block.layout != kLayout) return Status::kOtherLayout;
  if (copy && block.sampled_at == 0) return Status::kNoSample;
  into.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(block.count, kMaxCounters));
  into.sampled_at = block.sampled_at;
  std::copy_n(block.values, into.count, into.values.begin());
  return Status::kDone;
}

}  // namespace monitoring::detail

namespace monitoring {

Board::Board(dsfabric::Fabric& fabric) : page_(detail::Page::of(fabric)) {}

Counter Board::counter(std::string_view name, std::string_view unit, Kind kind) {
  return page_->counter(name, unit, kind);
}

}  // namespace monitoring
