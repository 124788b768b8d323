// SPDX-License-Identifier: MIT
// meet(): comparing what all workers have made.
#include "hashtable/detail/meeting.hpp"

#include <fmt/format.h>

#include "dtutils/error.hpp"
#include "hashtable/detail/home.hpp"

namespace hashtable::detail {
namespace {

std::uint64_t digest(std::uint64_t sum, std::string_view text) noexcept {
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  return (sum ^ text.size()) * 0x100'0000'01b3;
}

std::uint64_t digest(const Options& options) noexcept {
  const std::uint64_t words[] = {static_cast<std::uint64_t>(options.mode),
                                 static_cast<std::uint64_t>(options.growth), options.bytes,
                                 options.buckets, options.max_entry};
  return hash_of(words, std::size(words));
}

}  // namespace

std::vector<Place> meet(dsfabric::Thread& self, Home& home, const Options& options,
                        const TypeNames& types) {
  const Place mine{home.remote(), reinterpret_cast<std::uint64_t>(&home),
                   digest(digest(0xcbf2'9ce4'8422'2325, types.key), types.value), digest(options)};
  const std::vector<Place> all = self.all_gather(mine);
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    const bool same_types = all[rank].types == all[0].types;
    if (same_types && all[rank].options == all[0].options) continue;
    throw dtutils::Error(
        "hashtable::HashTable",
        fmt::format("worker {} made a table of other {} than worker {}",
                    self.fabric().thread_of_rank(rank), same_types ? "options" : "types",
                    self.fabric().thread_of_rank(0)),
        "let all workers make the same tables, with the same Options, in the same order");
  }
  return all;
}

}  // namespace hashtable::detail
