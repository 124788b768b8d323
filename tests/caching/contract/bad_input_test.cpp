// SPDX-License-Identifier: MIT
// Documents too large, memory that is all held, options that differ: each is refused in its way.
#include <vector>

#include "caching/support/caching_job.hpp"
#include "dtutils/error.hpp"

using namespace caching;
using namespace support;

namespace {

CacheOptions tiny(Scheme scheme) {
  CacheOptions options;
  options.bytes = 16 << 10;
  options.scheme = scheme;
  options.directory = 64;
  return options;
}

}  // namespace

TEST_CASE("a_document_larger_than_the_cache_is_refused_and_harms_nobody") {
  for (const Scheme scheme : kSchemes) {
    ForkJob job(2, [&](Member& member) {
      CachingNode node(member, tiny(scheme));
      require(put(node.cache, "small", 1, 1000) != Stored::kTooLarge, "a small one");
      require(put(node.cache, "large", 1, 16 << 10) == Stored::kTooLarge, "a large one");
      require(put(node.cache, "larger", 1, 10 << 20) == Stored::kTooLarge, "a larger one");
      require(!node.cache.get("large") && !node.cache.get("larger"), "they are nowhere");
      const std::string long_key(70'000, 'k');
      require(put(node.cache, long_key, 1, 1) == Stored::kTooLarge, "a long key");
      const std::string fields(20'000, 'f');
      Attributes attributes;
      attributes.metadata = fields;
      require(node.cache.put("k", "", attributes, {}) == Stored::kTooLarge, "long metadata");
      (void)version_of(node.cache.get("small"), "small");
      meet(member, node, 0);
    });
    CHECK(job.wait() == "");
  }
}

TEST_CASE("memory_that_documents_hold_is_not_taken_from_them") {
  ForkJob job(1, [](Member& member) {
    CachingNode node(member, tiny(Scheme::kAc));
    std::vector<Document> held;
    for (int i = 0; i < 3; ++i) {
      require(put(node.cache, key_number(i), 1, 4000) == Stored::kHere, "put");
      held.push_back(node.cache.get(key_number(i)));
    }
    require(put(node.cache, "more", 1, 8000) == Stored::kNoRoom, "all is held");
    node.cache.drop(key_number(1));
    require(!node.cache.get(key_number(1)), "it is dropped");
    require_equal(version_of(held[1], key_number(1)), 1u, "and still held");
    require(put(node.cache, "more", 1, 8000) == Stored::kNoRoom, "so it takes its memory");
    held.clear();
    require(put(node.cache, "more", 1, 8000) == Stored::kHere, "they were let go");
    (void)version_of(node.cache.get("more"), "more");
    require(node.cache.invariant(), "invariant");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("processes_with_different_options_do_not_have_a_cache_together") {
  ForkJob job(2, [](Member& member) {
    std::string text;
    try {
      CachingNode node(member, tiny(member.rank == 0 ? Scheme::kBcc : Scheme::kCcwr));
    } catch (const dtutils::Error& error) {
      text = error.what();
    }
    require(text.find("its cache has another scheme") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
  ForkJob without(1, [](Member& member) {
    dsfabric::Config config = CachingNode::config();
    config.service_threads = 0;
    dsfabric::Fabric fabric = member.join(config);
    std::string text;
    try {
      Cache cache(fabric, tiny(Scheme::kAc));
    } catch (const dtutils::Error& error) {
      text = error.what();
    }
    require(text.find("no service thread") != std::string::npos, text);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 40}) {
      text.clear();
      try {
        Cache cache(fabric, {.bytes = bytes});
      } catch (const dtutils::Error& error) {
        text = error.what();
      }
      require(text.find("cannot have") != std::string::npos, text);
    }
    text.clear();
    try {
      Cache cache(fabric, {.directory = 0xffff'ffff});
    } catch (const dtutils::Error& error) {
      text = error.what();
    }
    require(text.find("a directory of 4294967295 entries") != std::string::npos, text);
  });
  CHECK(without.wait() == "");
}
