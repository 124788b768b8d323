// SPDX-License-Identifier: MIT
// The example of the README.
#include "memory/support/memory_job.hpp"

using support::Member;
using support::MemoryNode;
using support::require_equal;

namespace {

struct Account {
  std::uint64_t balance;
  std::uint64_t changes;
};

void tour(memory::Space& space) {
  memory::Client client(space);  // one for each thread
  const memory::GlobalPtr<Account> account = client.allocate<Account>(1, memory::spread());
  client.require(client.write(account, Account{100, 1}));
  Account now{};
  client.require(client.read(account, now, memory::ReadMode::kCached));

  memory::Batch batch(client);  // many operations under one wait
  std::uint64_t before = 0;
  batch.fetch_add(account.part<std::uint64_t>(offsetof(Account, changes)), 1, before);
  batch.read(account, now);
  client.require(batch.wait());

  memory::Subscription<Account> watched(client, account);  // read again and again
  client.require(watched.read(now));                       // a compare and a copy, until a write
  client.require(client.free(account));

  require_equal(now.balance, 100u, "balance");
  require_equal(before, 1u, "changes");
}

}  // namespace

TEST_CASE("the_example_of_the_readme_runs") {
  CHECK(support::run_members(2, [](Member& member) {
          MemoryNode node(member);
          tour(node.space);
        }) == "");
}
