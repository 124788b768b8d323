// SPDX-License-Identifier: MIT
// Space: the homes get to know each other.
#include "memory/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "dsfabric/own_connections.hpp"
#include "dtutils/error.hpp"
#include "requests.hpp"
#include "space_state.hpp"

namespace memory {
namespace {

using namespace detail;

/// What each process tells the others; its zones follow.
struct Hello {
  std::uint64_t protocol;
  std::uint64_t bytes;
  std::uint64_t home;
  std::uint64_t lines;
  std::uint64_t zones;
};
/// "memory", and the version of what its processes say to each other.
constexpr std::uint64_t kProtocol = 0x6d656d6f72790003;

/// The homes of a fabric's Spaces, which live as long as the fabric.
struct Homes {
  std::mutex mutex;
  std::vector<std::shared_ptr<Home>> all;
};
constexpr char kHomesKey = 0;

std::vector<std::byte> hello_of(const SpaceState& state, bool lines) {
  const auto& memory = state.home->zones();
  const Hello hello{kProtocol, state.options.bytes,
                    reinterpret_cast<std::uint64_t>(state.home.get()), lines ? 1u : 0u,
                    memory.size()};
  std::vector<std::byte> mine(sizeof hello + memory.size() * sizeof(ZoneMemory));
  std::memcpy(mine.data(), &hello, sizeof hello);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const ZoneMemory zone{reinterpret_cast<std::uint64_t>(memory[i].data()), memory[i].size(),
                          memory[i].rkey()};
    std::memcpy(mine.data() + sizeof hello + i * sizeof zone, &zone, sizeof zone);
  }
  return mine;
}

HomeThere home_from(const std::vector<std::byte>& bytes, std::uint32_t process,
                    const SpaceOptions& options) {
  const std::string who = fmt::format("process {}", process);
  Hello hello{};
  if (bytes.size() >= sizeof hello) std::memcpy(&hello, bytes.data(), sizeof hello);
  if (hello.protocol != kProtocol ||
      bytes.size() != sizeof hello + hello.zones * sizeof(ZoneMemory)) {
    throw dtutils::Error(who, "it made no memory::Space at this point, or one of another version",
                         "let all processes make the same objects in the same order");
  }
  if (hello.bytes != options.bytes) {
    throw dtutils::Error(who,
                         fmt::format("it gives {} bytes to the Space, and this process {}",
                                     hello.bytes, options.bytes),
                         "let all processes give the same SpaceOptions");
  }
  HomeThere there{hello.home, std::vector<ZoneMemory>(hello.zones)};
  std::memcpy(there.zones.data(), bytes.data() + sizeof hello, hello.zones * sizeof(ZoneMemory));
  return there;
}

}  // namespace

Space::Space(dsfabric::Fabric& fabric, const SpaceOptions& options)
    : state_(std::make_shared<SpaceState>(fabric)) {
  SpaceState& state = *state_;
  state.options = options;
  if (!fabric.device().atomics) {
    throw dtutils::Error("memory::Space", "the device has no atomics", "use another device");
  }
  if (options.bytes == 0 || options.bytes >= std::uint64_t{1} << 40) {
    throw dtutils::Error("memory::Space", fmt::format("it cannot have {} bytes", options.bytes),
                         "give SpaceOptions::bytes between 1 and 2^40");
  }
  // One device that promises less is enough: whoever reads decides what it can tell apart.
  std::byte in_order{fabric.device().reads_in_order};
  for (const auto& each : fabric.exchange({&in_order, 1})) {
    state.lines = state.lines || each.empty() || each.front() == std::byte{0};
  }
  state.home = std::make_shared<Home>(fabric, options, state.lines);
  const auto kept = std::static_pointer_cast<Homes>(
      fabric.attachment(&kHomesKey, [](dsfabric::Fabric&) { return std::make_shared<Homes>(); }));
  {
    const std::scoped_lock lock(kept->mutex);
    kept->all.push_back(state.home);
  }
  const auto all = fabric.exchange(hello_of(state, state.lines));
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    state.homes.push_back(home_from(all[i], i, options));
    state.zones_each =
        std::max(state.zones_each, static_cast<std::uint32_t>(state.homes.back().zones.size()));
  }
  for (const HomeThere& there : state.homes) {
    state.zones.insert(state.zones.end(), there.zones.begin(), there.zones.end());
    state.zones.resize(state.zones.size() + state.zones_each - there.zones.size());
  }
  // By which this process is told of new versions in its own memory.
  dsfabric::watch_own_connections(fabric);
  state.clock.resize(std::size_t{fabric.founders()} * fabric.founders());
  fabric.on_failure([home = std::weak_ptr(state.home), seen = std::weak_ptr(state_),
                     founders = fabric.founders()](dsfabric::ProcessId failed, const std::string&) {
    // Newcomers to an elastic job have no part of the memory.
    if (failed.value >= founders) return;
    // The fabric has cut its connections before.
    if (const auto alive = home.lock()) alive->repair_after(failed);
    if (const auto its = seen.lock()) its->failures.fetch_add(1, std::memory_order_release);
  });
}

Space::~Space() = default;

dsfabric::Fabric& Space::fabric() const noexcept { return state_->fabric; }

const SpaceOptions& Space::options() const noexcept { return state_->options; }

std::vector<std::uint64_t> Space::clock() const {
  const std::scoped_lock lock(state_->clock_mutex);
  return state_->clock;
}

void Space::observe(std::span<const std::uint64_t> clock) {
  const std::scoped_lock lock(state_->clock_mutex);
  if (clock.size() != state_->clock.size()) {
    throw dtutils::Error("memory::Space::observe", "this is no clock of this job",
                         "pass what Space::clock() of another process gave");
  }
  const std::size_t processes = state_->fabric.founders();
  for (std::size_t i = 0; i < clock.size(); ++i) {
    // Nobody knows better than this process what it has asked for itself.
    if (i % processes == state_->fabric.process().value) continue;
    state_->clock[i] = std::max(state_->clock[i], clock[i]);
  }
}

std::uint64_t Space::bytes_in_use() const { return state_->home->bytes_in_use(); }

std::uint64_t Space::segments() const { return state_->home->segments(); }

}  // namespace memory
