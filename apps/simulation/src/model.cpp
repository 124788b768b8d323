// SPDX-License-Identifier: MIT
// The members of the model by name.
#include "simulation/model.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "dtutils/error.hpp"
#include "dtutils/parse_number.hpp"

namespace simulation {
namespace {

using dtutils::NetworkModel;

struct Member {
  std::string_view name;
  /// One of these.
  NetworkModel::Time NetworkModel::*time;
  std::uint32_t NetworkModel::*number;
  std::uint32_t least = 0;
};
constexpr Member kMembers[] = {
    {"post", &NetworkModel::post, nullptr},
    {"poll", &NetworkModel::poll, nullptr, 1},
    {"clock", &NetworkModel::clock, nullptr},
    {"doorbell", &NetworkModel::doorbell, nullptr},
    {"fetch", &NetworkModel::fetch, nullptr},
    {"issue", &NetworkModel::issue, nullptr},
    {"adapter", &NetworkModel::adapter, nullptr},
    {"land", &NetworkModel::land, nullptr},
    {"atomic", &NetworkModel::atomic, nullptr},
    {"cached_connections", nullptr, &NetworkModel::cached_connections},
    {"connection_miss", &NetworkModel::connection_miss, nullptr},
    {"hop", &NetworkModel::hop, nullptr},
    {"ports", nullptr, &NetworkModel::ports, 1},
    {"bytes_per_us", nullptr, &NetworkModel::bytes_per_us, 1},
    {"mtu", nullptr, &NetworkModel::mtu, 1},
    {"header", nullptr, &NetworkModel::header},
    {"gap", &NetworkModel::gap, nullptr},
};
/// Of times in nanoseconds: a second. No sum of them overflows.
constexpr std::uint32_t kMost = 1'000'000'000;

const Member& find(std::string_view name) {
  std::string names;
  for (const Member& member : kMembers) {
    if (member.name == name) return member;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", member.name);
  }
  throw dtutils::Error(fmt::format("model, \"{}\"", name), "it has no such member",
                       "use one of " + names);
}

void change(NetworkModel& model, std::string_view part) {
  const std::size_t equals = part.find('=');
  const Member& member = find(part.substr(0, equals));
  const std::string_view text =
      equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
  const auto value = dtutils::parse_number<std::uint32_t>(text, member.least, kMost);
  if (!value) {
    throw dtutils::Error(fmt::format("model, \"{}\"", part), "it has no value that can be used",
                         fmt::format("give {}=N with a whole number from {} to {}", member.name,
                                     member.least, kMost));
  }
  if (member.time != nullptr) {
    model.*member.time = NetworkModel::Time(*value);
  } else {
    model.*member.number = *value;
  }
}

}  // namespace

NetworkModel read_model(std::string_view text, NetworkModel model) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    change(model, text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return model;
}

std::string write_model(const NetworkModel& model) {
  const NetworkModel usual;
  std::string text;
  for (const Member& member : kMembers) {
    const auto value = [&](const NetworkModel& each) {
      return member.time != nullptr ? (each.*member.time).count()
                                    : std::int64_t{each.*member.number};
    };
    if (value(model) == value(usual)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", member.name, value(model));
  }
  return text;
}

}  // namespace simulation
