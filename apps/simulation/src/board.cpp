// SPDX-License-Identifier: MIT
// Board: exchanges, letters, and obituaries.
#include "board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;

/// A letter takes at least so long, two ways through the sockets of a host, and up to so much more.
/// What comes behind it until then comes with it.
constexpr std::chrono::nanoseconds kLetter = 20us;
constexpr std::uint64_t kLetterVaries = 30'000;
/// The news of a crash takes from this time on, twice as long, and so on, as often as this: from
/// what a launcher on the same host needs to what the time-outs of a network take.
constexpr std::chrono::nanoseconds kObituary = 100us;
constexpr std::uint64_t kObituaryDoublings = 13;

}  // namespace

Board::Board(dtutils::Simulation& cluster, std::uint32_t nodes)
    : cluster_(cluster), places_(nodes) {}

void Board::come(std::uint32_t rank) {
  Place& place = places_[rank];
  place.bell.emplace(cluster_, rank);
  if (place.state == Place::State::kExpected) place.state = Place::State::kThere;
  if (place.readable != 0) place.bell->ring();
}

void Board::go(std::uint32_t rank) noexcept {
  places_[rank].bell.reset();
  fail(rank);
}

void Board::ring_all() noexcept {
  for (Place& place : places_) {
    if (place.bell) place.bell->ring();
  }
}

std::vector<dsfabric::Bytes> Board::exchange(std::uint32_t rank, std::vector<dsfabric::Bytes> parts,
                                             std::chrono::milliseconds limit) {
  Place& mine = places_[rank];
  const std::uint64_t number = ++mine.exchanges;
  mine.parts[number % 2] = std::move(parts);
  await_all(mine, limit);
  std::vector<dsfabric::Bytes> all;
  all.reserve(places_.size());
  for (const Place& place : places_) {
    const std::vector<dsfabric::Bytes>& theirs = place.parts[number % 2];
    all.push_back(theirs.size() == 1 ? theirs.front() : theirs.at(rank));
  }
  return all;
}

void Board::await_all(Place& mine, std::chrono::milliseconds limit) {
  const auto missing = [&] {
    return std::ranges::find_if(places_,
                                [&](const Place& each) { return each.exchanges < mine.exchanges; });
  };
  dtutils::Deadline deadline(limit);
  auto who = missing();
  if (who == places_.end()) return ring_all();
  for (; who != places_.end(); who = missing()) {
    const auto rank = static_cast<std::uint32_t>(who - places_.begin());
    if (who->state == Place::State::kFailed || who->state == Place::State::kLeft) {
      throw dtutils::Error("simulation", fmt::format("node {} has ended", rank),
                           "look what it did before");
    }
    if (deadline.passed()) {
      throw dtutils::Error("simulation", fmt::format("node {} has not come in time", rank),
                           "look what it does");
    }
    mine.bell->clear();
    mine.bell->wait_until(deadline.end());
  }
  // What was cleared may have been for who reads the letters.
  mine.bell->ring();
}

void Board::send(std::uint32_t rank, std::uint32_t to, std::span<const std::byte> bytes) {
  if (places_[rank].state != Place::State::kThere) return;
  const auto shared = std::make_shared<const dsfabric::Bytes>(bytes.begin(), bytes.end());
  if (to < nodes()) return put(places_[to], {rank, shared});
  for (std::uint32_t each = 0; each < nodes(); ++each) {
    if (each != rank) put(places_[each], {rank, shared});
  }
}

void Board::put(Place& to, News news) {
  if (to.state == Place::State::kLeft || to.state == Place::State::kFailed) return;
  to.news.push_back(std::move(news));
  if (std::exchange(to.on_its_way, true)) return;
  const std::chrono::nanoseconds varies(cluster_.random() % kLetterVaries);
  cluster_.at(cluster_.time() + kLetter + varies, [&to] { deliver(to); });
}

void Board::deliver(Place& to) noexcept {
  to.on_its_way = false;
  to.readable = to.news.size();
  if (to.bell) to.bell->ring();
}

std::optional<dsfabric::Bootstrap::Letter> Board::next_letter(std::uint32_t rank) noexcept {
  Place& place = places_[rank];
  if (place.readable == 0) {
    place.bell->clear();
    return std::nullopt;
  }
  const News& first = place.news.front();
  if (first.bytes == nullptr) return std::nullopt;
  dsfabric::Bootstrap::Letter letter{first.from, *first.bytes};
  place.news.pop_front();
  --place.readable;
  return letter;
}

std::optional<std::uint32_t> Board::next_failed(std::uint32_t rank) noexcept {
  Place& place = places_[rank];
  if (place.readable == 0 || place.news.front().bytes != nullptr) return std::nullopt;
  const std::uint32_t failed = place.news.front().from;
  place.news.pop_front();
  --place.readable;
  return failed;
}

void Board::goodbye(std::uint32_t rank) noexcept {
  Place& place = places_[rank];
  if (place.state == Place::State::kThere) place.state = Place::State::kLeft;
}

void Board::fail(std::uint32_t rank) {
  Place& gone = places_[rank];
  if (gone.state == Place::State::kLeft || gone.state == Place::State::kFailed) return;
  gone.state = Place::State::kFailed;
  // Should it be woken, it finds that it has lost the others, as when a launcher is gone.
  for (std::uint32_t each = 0; each < nodes(); ++each) {
    if (each != rank) gone.news.push_back({each, nullptr});
  }
  deliver(gone);
  const auto takes = kObituary * (1u << (cluster_.random() % (kObituaryDoublings + 1)));
  cluster_.at(cluster_.time() + takes, [this, rank] {
    for (std::uint32_t each = 0; each < nodes(); ++each) {
      if (each != rank) put(places_[each], {rank, nullptr});
    }
    // Who waits for it in an exchange.
    ring_all();
  });
}

}  // namespace simulation
