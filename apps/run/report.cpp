// SPDX-License-Identifier: MIT
// Reports, by nlohmann-json.
#include "report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace run {
namespace {

std::string dump(const nlohmann::ordered_json& report) {
  // Names of hosts are what members say.
  return report.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

const char* state_text(dsfabric::JobMember::State state) {
  constexpr const char* kTexts[] = {"starting", "active", "left", "failed"};
  return kTexts[static_cast<std::size_t>(state)];
}

/// Of a process that another launcher has started.
std::string end_of_newcomer(const dsfabric::JobMember& member) {
  using State = dsfabric::JobMember::State;
  if (member.state == State::kLeft) return "had left";
  if (member.state == State::kFailed) return "had failed: " + member.reason;
  return "is told that the job has ended";
}

}  // namespace

std::string time_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::string report_of(const JobWords& words, const dsfabric::RendezvousServer& server) {
  auto members = nlohmann::ordered_json::array();
  for (const dsfabric::JobMember& each : server.roster()) {
    members.push_back({{"process", each.process},
                       {"host", each.host},
                       {"pid", each.pid},
                       {"state", state_text(each.state)},
                       {"since", time_text(each.since)},
                       {"founder", each.founder},
                       {"reason", each.reason}});
  }
  return dump({{"name", words.name},
               {"keeper", getpid()},
               {"address", server.address()},
               {"log", words.log},
               {"began", words.began},
               {"capacity", words.capacity},
               {"program", words.program},
               {"members", std::move(members)}});
}

std::string ending_report(int status, const std::string& reason,
                          const std::vector<dsfabric::JobMember>& roster,
                          const std::vector<const Child*>& founders) {
  auto processes = nlohmann::ordered_json::array();
  for (const dsfabric::JobMember& each : roster) {
    std::string ended = end_of_newcomer(each);
    if (each.founder && each.process < founders.size() && founders[each.process] != nullptr) {
      const auto& ending = founders[each.process]->ending();
      ended = ending ? ending->words : "still runs";
    }
    processes.push_back({{"process", each.process}, {"ended", ended}});
  }
  return dump({{"status", status}, {"reason", reason}, {"processes", std::move(processes)}});
}

std::string refusal_report(const std::string& request) {
  nlohmann::ordered_json report;
  report["error"] = fmt::format("there is no request \"{}\"", request);
  return dump(report);
}

}  // namespace run
