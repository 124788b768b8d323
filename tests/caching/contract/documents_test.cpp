// SPDX-License-Identifier: MIT
// Documents of all sizes, put and found in every scheme, with variants, expiry and invalidation.
#include <algorithm>
#include <atomic>

#include "caching/support/caching_job.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"

using namespace caching;
using namespace support;

namespace {

using std::chrono::hours;

CacheOptions small_cache(Scheme scheme, Replacement replacement = Replacement::kS3Fifo) {
  CacheOptions options;
  options.bytes = 4 << 20;
  options.scheme = scheme;
  options.replacement = replacement;
  options.directory = 1024;
  return options;
}

/// Runs `body` in a job for each scheme.
template <class Body>
void in_each_scheme(std::uint32_t processes, Body body) {
  for (const Scheme scheme : kSchemes) {
    CAPTURE(static_cast<int>(scheme));
    ForkJob job(processes, [&](Member& member) {
      CachingNode node(member, small_cache(scheme));
      body(member, node, scheme);
    });
    CHECK(job.wait() == "");
  }
}

}  // namespace

TEST_CASE("documents_of_every_size_are_found_here_and_at_the_neighbour") {
  in_each_scheme(2, [](Member& member, CachingNode& node, Scheme scheme) {
    const std::size_t sizes[] = {0, 1, 63, 64, 200, 1000, 8192, 65536, 300'001, 1'000'000};
    if (member.rank == 0) {
      for (const std::size_t bytes : sizes) {
        const std::string key = key_number(bytes);
        const Stored stored = put(node.cache, key, 7, bytes);
        const bool may_be_elsewhere = scheme != Scheme::kAc && scheme != Scheme::kBcc;
        require(stored == Stored::kHere || (may_be_elsewhere && stored == Stored::kElsewhere),
                "it is stored");
        const Document found = node.cache.get(key);
        require_equal(version_of(found, key), 7u, "version");
        require_equal(found.body().size(), bytes, "bytes");
        require(found.source() == (stored == Stored::kHere ? Source::kHere : Source::kNeighbour),
                "where it was put");
      }
    }
    meet(member, node, 0);
    if (member.rank == 1) {
      for (int again = 0; again < 3; ++again) {
        for (const std::size_t bytes : sizes) {
          const Document found = node.cache.get(key_number(bytes));
          if (scheme == Scheme::kAc) {
            require(!found, "each has a cache for itself");
          } else {
            require_equal(version_of(found, key_number(bytes)), 7u, "version");
          }
        }
      }
      const Counters counters = node.cache.counters();
      require_equal(counters.here + counters.neighbour + counters.missed, 30u, "gets");
      require(scheme == Scheme::kAc || counters.neighbour > 0, "some came from the neighbour");
      if (scheme == Scheme::kBcc) require_equal(counters.neighbour, 10u, "the first ones");
    }
    require(node.cache.invariant(), "invariant");
    meet(member, node, 1);
  });
}

TEST_CASE("one_copy_schemes_keep_one_copy_and_small_ones_get_a_second_by_hybcc") {
  for (const Scheme scheme : {Scheme::kCcwr, Scheme::kHybcc}) {
    ForkJob job(2, [&](Member& member) {
      CachingNode node(member, small_cache(scheme));
      if (member.rank == 0) {
        for (int i = 0; i < 20; ++i) (void)put(node.cache, key_number(i), 1, 5000);
        (void)put(node.cache, "large", 1, 100'000);
      }
      meet(member, node, 0);
      // Each asks three times: the first comes from where it is, the second may stay here.
      std::uint64_t near = 0;
      for (int round = 0; round < 3; ++round) {
        near = 0;
        for (int i = 0; i < 20; ++i) {
          const Document found = node.cache.get(key_number(i));
          (void)version_of(found, key_number(i));
          near += found.source() == Source::kHere ? 1 : 0;
        }
      }
      const bool large_here = node.cache.get("large").source() == Source::kHere;
      for (int i = 0; i < 5; ++i) (void)node.cache.get("large");
      require(large_here == (node.cache.get("large").source() == Source::kHere), "no second copy");
      member.memory.processes[member.rank].result = near << 1 | (large_here ? 1 : 0);
      meet(member, node, 1);
    });
    CHECK(job.wait() == "");
    const std::uint64_t a = job.memory().processes[0].result, b = job.memory().processes[1].result;
    CHECK((a & 1) + (b & 1) == 1);
    if (scheme == Scheme::kCcwr) CHECK((a >> 1) + (b >> 1) == 20);
    if (scheme == Scheme::kHybcc) CHECK((a >> 1) + (b >> 1) == 40);
  }
}

TEST_CASE("lenders_have_documents_of_mtacc_and_not_of_ccwr") {
  for (const Scheme scheme : {Scheme::kCcwr, Scheme::kMtacc, Scheme::kHybcc}) {
    ForkJob job(2, [&](Member& member) {
      CacheOptions options = small_cache(scheme);
      options.lends = member.rank == 1;
      CachingNode node(member, options);
      if (member.rank == 0) {
        for (int i = 0; i < 40; ++i) (void)put(node.cache, key_number(i), 1, 5000);
        for (int i = 0; i < 40; ++i) (void)version_of(node.cache.get(key_number(i)), key_number(i));
      }
      meet(member, node, 0);
      const bool has = node.cache.counters().documents > 0;
      require_equal(has, member.rank == 0 || scheme != Scheme::kCcwr, "it has documents");
      meet(member, node, 1);
    });
    CHECK(job.wait() == "");
  }
}

TEST_CASE("variants_of_a_key_are_different_documents_and_are_invalidated_together") {
  in_each_scheme(3, [](Member& member, CachingNode& node, Scheme) {
    const std::string binary("/a\0b", 4);
    const auto each = [&](auto what) {
      for (const std::string& key : {std::string("/page"), binary}) {
        for (const char* const variant : {"", "gzip", "br"}) what(key, variant);
      }
    };
    const Ticket ticket = node.cache.get("/page", "gzip").ticket();
    if (member.rank == 0) {
      each([&](const std::string& key, const char* variant) {
        (void)put(node.cache, key, 3, 500, {}, variant);
      });
    }
    meet(member, node, 0);
    each([&](const std::string& key, const char* variant) {
      if (const Document found = node.cache.get(key, variant)) {
        require_equal(version_of(found, key, variant), 3u, "version");
      }
    });
    require(!node.cache.get("/page", "zip") && !node.cache.get("/pag", "e"), "no such variant");
    meet(member, node, 1);
    if (member.rank == 1) require(node.cache.invalidate("/page"), "invalidate");
    meet(member, node, 2);
    each([&](const std::string& key, const char* variant) {
      if (key == "/page") require(!node.cache.get(key, variant), "it was invalidated");
    });
    if (member.rank == 0) (void)version_of(node.cache.get(binary, "br"), binary, "br");
    require(put(node.cache, "/page", 2, 500, ticket, "gzip") == Stored::kOutdated,
            "a ticket from before");
    require(!node.cache.get("/page", "gzip"), "what is outdated is not kept");
    meet(member, node, 3);
    if (member.rank == 2) {
      const Ticket now = node.cache.get("/page", "gzip").ticket();
      const Stored stored = put(node.cache, "/page", 4, 500, now, "gzip");
      require(stored == Stored::kHere || stored == Stored::kElsewhere, "a ticket of now");
      require_equal(version_of(node.cache.get("/page", "gzip"), "/page", "gzip"), 4u, "version");
    }
    meet(member, node, 4);
    node.cache.drop("/page");
    meet(member, node, 5);
    require(!node.cache.get("/page", "gzip"), "all have dropped it");
    require(node.cache.invariant(), "invariant");
    meet(member, node, 6);
  });
}

TEST_CASE("a_put_that_is_refused_as_outdated_leaves_the_newer_document_everywhere") {
  in_each_scheme(2, [](Member& member, CachingNode& node, Scheme scheme) {
    const Ticket before = node.cache.get("k").ticket();
    meet(member, node, 0);
    if (member.rank == 0) {
      require(node.cache.invalidate("k"), "invalidate");
      const Stored stored = put(node.cache, "k", 2, 500, node.cache.get("k").ticket());
      require(stored == Stored::kHere || stored == Stored::kElsewhere, "the newer one");
    }
    meet(member, node, 1);
    // Each has asked the origin before the change, and is answered after it, in turn.
    for (std::uint32_t late = 0; late < 2; ++late) {
      if (member.rank == late) {
        require(put(node.cache, "k", 1, 700, before) == Stored::kOutdated, "it comes too late");
      }
      meet(member, node, 2 + late);
      if (scheme == Scheme::kAc && member.rank == 1) continue;
      require_equal(version_of(node.cache.get("k"), "k"), 2u, "version");
    }
    require(put(node.cache, "k", 1, 700, kNoTicket) == Stored::kOutdated, "nothing is known");
    meet(member, node, 4);
  });
}

TEST_CASE("a_fresh_document_of_a_neighbour_is_better_than_an_expired_one_here") {
  ForkJob job(2, [](Member& member) {
    CachingNode node(member, small_cache(Scheme::kBcc));
    const Time now{std::chrono::seconds(1'700'000'000)};
    const auto body = body_of("k", 1, 100);
    const auto put_until = [&](Time expires) {
      Attributes attributes;
      attributes.expires = expires;
      attributes.validator = "\"etag\"";
      require(node.cache.put("k", "", attributes, body) == Stored::kHere, "put");
    };
    if (member.rank == 0) put_until(now + hours(1));
    meet(member, node, 0);
    if (member.rank == 1) {
      require(node.cache.get("k", "", now).source() == Source::kNeighbour, "it comes from there");
      require(node.cache.get("k", "", now).source() == Source::kHere, "and stays");
      put_until(now - hours(1));
      const Document found = node.cache.get("k", "", now);
      require(found.source() == Source::kNeighbour && found.fresh(now), "the fresh one");
      const Document expired = node.cache.get("k", "", now + hours(2));
      require(expired && !expired.fresh(now + hours(2)), "an expired one, when there is no other");
      require(expired.validator() == "\"etag\"", "with its validator");
      require(expired.expires() == now + hours(1), "and when it expired");
      require(expired.ticket().epoch != 0, "and a ticket");
    }
    meet(member, node, 1);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_document_that_is_replaced_is_there_all_the_time") {
  for (const Scheme scheme : {Scheme::kAc, Scheme::kBcc, Scheme::kHybcc}) {
    ForkJob job(1, [&](Member& member) {
      CachingNode node(member, small_cache(scheme));
      (void)put(node.cache, "k", 1, 5000);
      std::atomic<bool> over{false};
      Threads threads;
      threads.start([&] {
        for (std::uint64_t version = 2; version < 200; ++version) {
          require(put(node.cache, "k", version, 5000) == Stored::kHere, "put");
        }
        over = true;
      });
      while (!over) (void)version_of(node.cache.get("k"), "k");
      threads.join();
      require_equal(node.cache.counters().documents, 1u, "documents");
    });
    CHECK(job.wait() == "");
  }
}

TEST_CASE("a_working_set_larger_than_the_cache_is_served_right_and_leaves_room") {
  for (const Replacement replacement : {Replacement::kLru, Replacement::kS3Fifo}) {
    for (const Scheme scheme : kSchemes) {
      ForkJob job(2, [&](Member& member) {
        CacheOptions options = small_cache(scheme, replacement);
        options.bytes = 256 << 10;
        CachingNode node(member, options);
        Random random(member.rank);
        for (int i = 0; i < 600; ++i) {
          const std::string key = key_number(random.size_up_to(97));
          const std::size_t bytes = 100 + std::hash<std::string>{}(key) % 20'000;
          const Document found = node.cache.get(key);
          if (found) {
            (void)version_of(found, key);
            require_equal(found.body().size(), bytes, "bytes");
          } else {
            (void)put(node.cache, key, 1, bytes, found.ticket());
          }
        }
        const Counters counters = node.cache.counters();
        require(counters.evicted > 0 && counters.here + counters.neighbour > 0, "both happen");
        require(counters.bytes <= options.bytes, "no more than it may have");
        require(node.cache.invariant(), "invariant");
        meet(member, node, 0);
      });
      CHECK(job.wait() == "");
    }
  }
}
