// SPDX-License-Identifier: MIT
// Calibrates the model of simulations by three figures of a verbs device, and predicts others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/calibration/program.hpp"
#include "bench/calibration/simulated.hpp"
#include "bench/harness/bench.hpp"
#include "bench/harness/constants.hpp"
#include "bench/harness/stats.hpp"
#include "bench/rxe/emulated.hpp"
#include "simulation/model.hpp"

namespace {

using calibration::Figure;
using calibration::Operation;

// In an emulator a packet takes some 20 us.
constexpr std::array<Figure, 3> kBasics{{
    {"write_stream", Operation::kWrite, calibration::kTiny, 4096, true},
    {"write_stream", Operation::kWrite, calibration::kSmall, 2048, true},
    {"write_stream", Operation::kWrite, calibration::kLarge, 320, true},
}};
constexpr std::array<Figure, 7> kPredicted{{
    {"write_stream", Operation::kWrite, 8192, 640, true},
    {"write_latency", Operation::kWrite, 8, 1000},
    {"write_latency", Operation::kWrite, 4096, 500},
    {"read_latency", Operation::kRead, 8, 1000},
    {"read_latency", Operation::kRead, 4096, 500},
    {"fetch_and_add_latency", Operation::kFetchAndAdd, 8, 1000},
    {"send_latency", Operation::kSend, 8, 1000},
}};

/// What process 0 knows.
struct Calibration {
  std::unique_ptr<calibration::Node> node;
  std::array<std::vector<double>, kBasics.size()> basics;
  std::optional<dtutils::NetworkModel> model;

  const dtutils::NetworkModel& fitted() {
    if (model) return *model;
    std::array<double, kBasics.size()> medians{};
    for (std::size_t i = 0; i < kBasics.size(); ++i) {
      if (basics[i].empty()) {
        throw std::runtime_error(
            "a --filter leaves out what calibrates the model: write_stream/8,"
            " write_stream/1024, write_stream/65536");
      }
      medians[i] = bench::summarize(basics[i]).median;
    }
    model = calibration::fit({medians[0], medians[1], medians[2]}, node->mtu());
    return *model;
  }
};

/// On the device.
bench::Variant measured(Calibration& state, const Figure& figure, std::vector<double>* keep) {
  const auto prepare = [&state, figure](bench::Batch& batch) {
    state.node->prepare(figure);
    batch.channel().barrier();
  };
  return {.name = "measured",
          .measure =
              [&state, figure, prepare, keep](bench::Batch& batch) {
                prepare(batch);
                const double each = state.node->measure(figure);
                if (keep != nullptr) keep->push_back(each);
                return each;
              },
          .assist =
              [&state, figure, prepare](bench::Batch& batch) {
                prepare(batch);
                state.node->assist(figure);
              }};
}

bench::Variant predicted(Calibration& state, const Figure& figure) {
  return {.name = "predicted", .measure = [&state, figure](bench::Batch&) {
            return calibration::simulate(state.fitted(), figure);
          }};
}

// Soft-RoCE works on the cores of the bench: waiting for a core is part of it.
bench::Case of(const Figure& figure, std::vector<bench::Variant> variants,
               std::vector<bench::Ratio> ratios = {}) {
  return {.name = figure.name,
          .size = figure.bytes,
          .variants = std::move(variants),
          .ratios = std::move(ratios),
          .oversubscribed = true,
          .max_iterations = 1};
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "rxe0";
  bool skipped = false;
  Calibration state;
  std::vector<std::string> arguments(argv, argv + argc);
  link_bench::add_defaults(arguments);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  bench::Suite suite(static_cast<int>(pointers.size()), pointers.data(), "calibration_bench",
                     "a two-node program on a verbs device, and in simulations that three of its "
                     "figures calibrate");
  suite.option("--device", device, "Verbs device to measure");
  suite.setup([&](bench::Channel& channel) {
    if (link_bench::lacks_device(channel, device, "calibration", skipped)) return;
    state.node = std::make_unique<calibration::Node>(device);
    const auto endpoint = channel.exchange(state.node->endpoint());
    state.node->connect(endpoint, channel.exchange(state.node->memory()));
    channel.barrier();  // nobody posts before both are ready
  });
  suite.teardown([&](bench::Channel& channel) {
    channel.barrier();  // nobody breaks a queue pair that the other one still uses
    state.node.reset();
  });
  for (std::size_t i = 0; i < kBasics.size(); ++i) {
    suite.add(of(kBasics[i], {measured(state, kBasics[i], &state.basics[i])}));
  }
  for (const Figure& figure : kPredicted) {
    // Within 25 %.
    suite.add(of(figure, {measured(state, figure, nullptr), predicted(state, figure)},
                 {{.over = "predicted", .under = "measured", .bar = "<= 1.25"},
                  {.over = "measured", .under = "predicted", .bar = "<= 1.333"}}));
  }
  const int status = suite.run();
  if (state.model)
    fmt::print("scripts/simulate --model {}\n", simulation::write_model(*state.model));
  return skipped ? bench::kSkipped : status;
}
