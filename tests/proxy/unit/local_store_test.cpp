// SPDX-License-Identifier: MIT
// The cache of one process: its limit, and what it keeps.
#include "proxy/local_store.hpp"

#include <random>
#include <string>

#include "support/catch.hpp"

using proxy::LocalStore;

namespace {

proxy::DocumentPtr document(const std::string& key, std::size_t body) {
  proxy::DocumentBuilder builder(key, 200, "", {}, 0, body);
  builder.append(std::string(body, 'x'));
  return builder.finish();
}

std::string name(std::uint64_t number) { return "h/" + std::to_string(number); }

bool has(LocalStore& store, const std::string& key) { return store.find(key).document != nullptr; }

}  // namespace

TEST_CASE("a document is found until it is erased or replaced") {
  LocalStore store(1 << 20);
  store.put(document("a", 10), 0);
  REQUIRE(has(store, "a"));
  store.put(document("a", 20), 0);
  CHECK(store.find("a").document->body().size() == 20);
  CHECK(store.figures().documents == 1);
  const proxy::DocumentPtr held = store.find("a").document;
  store.erase("a");
  store.erase("a");
  CHECK_FALSE(has(store, "a"));
  CHECK(held->body().size() == 20);
  CHECK(store.invariant());
}

TEST_CASE("a document that is too large is not kept, and its old version is gone") {
  LocalStore store(80 << 10);
  store.put(document("a", 10), 0);
  store.put(document("a", 20 << 10), 0);
  CHECK_FALSE(has(store, "a"));
  CHECK(store.figures().bytes == 0);
}

TEST_CASE("documents that are asked for once do not push out those that are asked for again") {
  LocalStore store(1 << 20);
  for (std::uint64_t i = 0; i < 20; ++i) store.put(document(name(i), 8 << 10), 0);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 20; ++i) REQUIRE(has(store, name(i)));
  }
  for (std::uint64_t i = 1000; i < 2000; ++i) store.put(document(name(i), 8 << 10), 0);
  for (std::uint64_t i = 0; i < 20; ++i) CHECK(has(store, name(i)));
  CHECK(store.invariant());
}

TEST_CASE("sums and limits hold for any order of calls") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  LocalStore store(256 << 10);
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = name(random() % 200);
    switch (random() % 4) {
      case 0:
        store.put(document(key, random() % (40 << 10)), 0);
        break;
      case 1:
        store.erase(key);
        break;
      default:
        if (const auto found = store.find(key).document) REQUIRE(found->key() == key);
    }
    if (i % 500 == 0) REQUIRE(store.invariant());
  }
  CHECK(store.invariant());
}
