// SPDX-License-Identifier: MIT
// What tests of caches share: a process with a cache, and documents whose bytes say what they are.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "caching/caching.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

namespace support {

inline constexpr caching::Scheme kSchemes[] = {caching::Scheme::kAc, caching::Scheme::kBcc,
                                               caching::Scheme::kCcwr, caching::Scheme::kMtacc,
                                               caching::Scheme::kHybcc};

/// A process of a job whose main thread, or others of it, use its cache.
struct CachingNode {
  explicit CachingNode(Member& member, const caching::CacheOptions& options)
      : fabric(member.join(config())), cache(fabric, options) {}
  static dsfabric::Config config() {
    dsfabric::Config config;
    config.threads = 1;
    config.service_threads = 1;
    return config;
  }

  dsfabric::Fabric fabric;
  caching::Cache cache;
};

inline void meet(Member& member, CachingNode& node, std::size_t word) {
  meet(member, node.fabric, word);
}

/// `bytes` bytes in which each word is made of the key, the version and its place.
inline std::vector<std::byte> body_of(const std::string& key, std::uint64_t version,
                                      std::size_t bytes) {
  std::uint64_t word = std::hash<std::string>{}(key) ^ version * 0x9e3779b97f4a7c15;
  std::vector<std::byte> body(bytes);
  for (std::size_t at = 0; at < bytes; at += sizeof word, word += 0x100000001b3) {
    std::memcpy(body.data() + at, &word, std::min(sizeof word, bytes - at));
  }
  return body;
}

/// The version, as decimal digits, is the validator; metadata repeat the key.
inline caching::Stored put(caching::Cache& cache, const std::string& key, std::uint64_t version,
                           std::size_t bytes, caching::Ticket ticket = {},
                           const std::string& variant = {}) {
  const std::string validator = std::to_string(version);
  caching::Attributes attributes;
  attributes.validator = validator;
  attributes.metadata = key;
  return cache.put(key, variant, attributes, body_of(key + variant, version, bytes), ticket);
}

/// Fails unless the document is the whole of one version of that key; returns the version.
inline std::uint64_t version_of(const caching::Document& document, const std::string& key,
                                const std::string& variant = {}, Where where = Where::current()) {
  require(static_cast<bool>(document), key + " is there", where);
  const std::uint64_t version = std::stoull(std::string(document.validator()));
  require(document.metadata() == key, "the metadata are those of the key", where);
  const auto body = document.body();
  require(std::ranges::equal(body, body_of(key + variant, version, body.size())),
          "the body is that of the version", where);
  return version;
}

inline std::string key_number(std::uint64_t number) {
  return "/document/" + std::to_string(number);
}

}  // namespace support
