// SPDX-License-Identifier: MIT
// Starts a program as a simulation.
#include "program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "dtutils/error.hpp"

namespace simulate {
namespace {

/// Put together here, so that this program has none. Every program with a cariama_main has it.
std::string mark() { return std::string("cariama_main: may be entered ") + "once a node"; }

void check(const std::string& path) {
  const std::string name = fmt::format("program {}", path);
  if (access(path.c_str(), X_OK) != 0) {
    throw dtutils::Error(name, "it cannot be started", "give the path of a program", errno);
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.find(mark()) == std::string::npos) {
    throw dtutils::Error(name, "it was not written to be entered once a node",
                         "include simulation/cariama_main.hpp or settings_only_main.hpp, and call "
                         "its main cariama_main");
  }
}

}  // namespace

void start_program(const std::vector<std::string>& command, const ProgramOptions& options) {
  const std::string& path = command.front();
  check(path);
  std::vector<std::string> words{path, fmt::format("--cariama-simulate-nodes={}", options.nodes),
                                 fmt::format("--cariama-simulate-seed={}", options.seed)};
  if (options.swarm) words.emplace_back("--cariama-simulate-swarm");
  if (options.calm) words.emplace_back("--cariama-simulate-calm");
  if (options.visible_threads) words.emplace_back("--cariama-simulate-visible-threads");
  if (!options.trace.empty()) words.push_back("--cariama-simulate-trace=" + options.trace);
  if (!options.model.empty()) words.push_back("--cariama-simulate-model=" + options.model);
  words.insert(words.end(), command.begin() + 1, command.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(path.c_str(), pointers.data());
  throw dtutils::Error(fmt::format("program {}", path), "it cannot be started",
                       "look whether it is a program of this machine", errno);
}

}  // namespace simulate
