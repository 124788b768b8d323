// SPDX-License-Identifier: MIT
// The example of the README.
#include "caching/support/caching_job.hpp"

using namespace support;

namespace {

struct Answer {
  caching::Time expires;
  std::string etag;
  std::string fields;
  std::string body;
};

int asked = 0;

Answer ask_origin(const std::string& url, std::string_view validator) {
  ++asked;
  return {caching::Time(std::chrono::seconds(100)), "\"1\"", "content-type: text/plain",
          url + " after " + std::string(validator)};
}

void serve(caching::Cache& cache, const std::string& url, const std::string& variant,
           caching::Time now) {
  caching::Document found = cache.get(url, variant);  // any thread
  if (!found || !found.fresh(now)) {
    const Answer answer = ask_origin(url, found.validator());
    caching::Attributes attributes;
    attributes.expires = answer.expires;
    attributes.validator = answer.etag;
    attributes.metadata = answer.fields;
    // With the ticket of the get: not when the key was invalidated since then.
    (void)cache.put(url, variant, attributes, std::as_bytes(std::span(answer.body)),
                    found.ticket());
  }
}

}  // namespace

TEST_CASE("the_example_of_the_readme_runs") {
  ForkJob job(2, [](Member& member) {
    caching::CacheOptions options;
    options.bytes = 1 << 20;
    CachingNode node(member, options);
    if (member.rank == 0) {
      serve(node.cache, "/", "gzip", caching::Time(std::chrono::seconds(1)));
      serve(node.cache, "/", "gzip", caching::Time(std::chrono::seconds(99)));
      require_equal(asked, 1, "it was fresh");
      serve(node.cache, "/", "gzip", caching::Time(std::chrono::seconds(100)));
      require_equal(asked, 2, "it had expired");
      const caching::Document found = node.cache.get("/", "gzip");
      const auto body = found.body();
      require(
          std::string(reinterpret_cast<const char*>(body.data()), body.size()) == "/ after \"1\"",
          "the origin was asked with the validator");
    }
    meet(member, node, 0);
  });
  CHECK(job.wait() == "");
}
