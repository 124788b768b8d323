// SPDX-License-Identifier: MIT
// An account of which each process has a copy: everybody withdraws, and nobody overdraws it.
#include <fmt/core.h>

#include <exception>
#include <stdexcept>

#include "groups/groups.hpp"
#include "simulation/settings_only_main.hpp"
#include "sst/sst.hpp"

struct Account {
  int balance = 1000;
};

int cariama_main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  sst::TableGroup tables{fabric};
  groups::Replicated<Account> account{tables};
  sst::Pace pace{fabric};
  // Runs at all members in the same order, so all agree which withdrawal was the last one.
  const auto withdraw = [amount = 7](Account& a) {
    return a.balance < amount ? false : (a.balance -= amount, true);
  };
  // Who has lost the majority, or was removed, would wait for ever.
  const auto progress = [&] {
    pace.after(account.progress());
    const groups::GroupState state = account.group().state();
    if (state == groups::GroupState::kMajorityLost || state == groups::GroupState::kRemoved) {
      throw std::runtime_error(account.group().describe());
    }
  };
  groups::Answer<bool> answer;
  int mine = 0;
  do {
    while (account.try_update(withdraw, &answer) != groups::SendStatus::kAccepted) progress();
    while (!answer.ready()) progress();
    mine += answer.value();
  } while (answer.value());
  fmt::print("process {} withdrew {} times, {} is left\n", fabric.process().value, mine,
             account.query([](const Account& a) { return a.balance; }));
  account.group().leave();
  while (account.group().state() != groups::GroupState::kOutside) progress();
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "replicated: {}\n", error.what());
  return 1;
}
