// SPDX-License-Identifier: MIT
// Reader: what it looks for when it knows of no copy, or of an old one.
#include "sharing/reader.hpp"

#include "host_cache.hpp"

namespace sharing {

Reader::Reader(Client& client, const Datum& datum) noexcept
    : client_(client),
      datum_(datum),
      seen_(client.space_.host().look_for(datum)),
      leads_(client.space_.host().leads()) {}

bool Reader::is_young() const noexcept { return seen_.is_young(datum_.model.age, client_.now()); }

bool Reader::is_told() const noexcept { return client_.space_.host().reached(); }

Status Reader::get_anew(std::span<std::byte> into, std::uint64_t* version) {
  const Status status = client_.get(datum_, into, version);
  if (status == Status::kDone) seen_ = client_.see(datum_);
  return status;
}

}  // namespace sharing
