// SPDX-License-Identifier: MIT
// The fit, and the nodes of the simulation.
#include "bench/calibration/simulated.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "dtutils/wait.hpp"

namespace calibration {

dtutils::NetworkModel fit(const Basics& basics, std::uint32_t mtu) {
  using Time = dtutils::NetworkModel::Time;
  const auto time = [](double ns) { return Time(std::llround(ns)); };
  if (mtu < kSmall) throw std::runtime_error(fmt::format("packets of {} bytes are too small", mtu));
  const double byte = (basics.small - basics.tiny) / (kSmall - kTiny);
  const double packets = std::ceil(double{kLarge} / mtu);
  const double packet = (basics.large - basics.small - byte * (kLarge - kSmall)) / (packets - 1);
  const double message = basics.small - packet - byte * kSmall;
  if (byte <= 0 || packet < 0 || message < 0) {
    throw std::runtime_error(
        fmt::format("{:.0f} ns, {:.0f} ns, {:.0f} ns are figures of no adapter in software; "
                    "measure while the machine has nothing else to do",
                    basics.tiny, basics.small, basics.large));
  }
  dtutils::NetworkModel model;
  model.mtu = mtu;
  model.bytes_per_us = static_cast<std::uint32_t>(std::lround(1000 / byte));
  model.header = static_cast<std::uint32_t>(std::lround(packet / byte));
  // The acknowledgement: between two messages in a stream, and on the way there and back of one.
  model.gap = time(message);
  model.hop = time(message / 2);
  // There is no hardware.
  for (Time dtutils::NetworkModel::*const none :
       {&dtutils::NetworkModel::post, &dtutils::NetworkModel::doorbell,
        &dtutils::NetworkModel::fetch, &dtutils::NetworkModel::issue,
        &dtutils::NetworkModel::adapter, &dtutils::NetworkModel::land,
        &dtutils::NetworkModel::atomic, &dtutils::NetworkModel::connection_miss}) {
    model.*none = Time(0);
  }
  return model;
}

double simulate(const dtutils::NetworkModel& model, const Figure& figure) {
  dtutils::SimulationOptions options;
  options.model = model;
  dtutils::Simulation simulation(options);
  struct Contact {
    dtutils::Endpoint endpoint;
    dtutils::RemoteMemoryLocator memory;
  };
  std::optional<Contact> contacts[2];
  bool ready[2] = {};
  bool over = false;
  double result = 0;
  for (const unsigned rank : {0u, 1u}) {
    simulation.start(rank, [&, rank] {
      Node node("sim");
      contacts[rank] = {node.endpoint(), node.memory()};
      dtutils::Backoff backoff;
      while (!contacts[1 - rank]) backoff.pause();
      node.connect(contacts[1 - rank]->endpoint, contacts[1 - rank]->memory);
      node.prepare(figure);
      ready[rank] = true;
      while (!ready[1 - rank]) backoff.pause();
      if (rank == 0) {
        result = node.measure(figure);
        over = true;
      } else {
        node.assist(figure);
        while (!over) dtutils::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  const dtutils::SimulationReport report = simulation.run();
  if (!report.error.empty()) throw std::runtime_error(report.error);
  return result;
}

}  // namespace calibration
